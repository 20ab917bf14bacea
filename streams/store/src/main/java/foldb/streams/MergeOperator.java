package foldb.streams;

import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Locale;
import java.util.stream.Collectors;
import org.apache.kafka.common.config.ConfigException;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.streams.errors.StreamsException;

/** The operators that a merge store can apply, under the names that a configuration uses. */
enum MergeOperator {
    /** Adds signed 64-bit integers; wraps as {@code long} does. */
    SUM(true),
    /** Keeps the smallest signed 64-bit integer. */
    MIN(true),
    /** Keeps the greatest signed 64-bit integer. */
    MAX(true),
    /** Appends the serialized values. */
    APPEND(false),
    /** Adds and removes members of a set; see {@link SetOperands}. */
    SET(false),
    /** Counts different elements in a sketch; see {@link SketchOperands}. */
    HYPERLOGLOG(false);

    /** The bytes of the timestamp before every value. */
    static final int STAMP_BYTES = Long.BYTES;

    private final boolean number;

    MergeOperator(boolean number) {
        this.number = number;
    }

    /** Returns the name in configurations, which is also the native library's name. */
    String id() {
        return name().toLowerCase(Locale.ROOT);
    }

    /**
     * Returns the operator of a name.
     *
     * @param setting the configuration key or parameter that gives the name, for the error
     * @param name the name
     * @throws ConfigException if no operator has this name
     */
    static MergeOperator named(String setting, Object name) {
        for (MergeOperator operator : values()) {
            if (operator.id().equals(name)) {
                return operator;
            }
        }
        throw new ConfigException(setting, name, "Unknown merge operator: expected one of "
            + Arrays.stream(values()).map(MergeOperator::id).collect(Collectors.joining(", ")));
    }

    /**
     * Returns how many keys a fold reads, logs and forwards together. Values that are no numbers
     * may be large, and the values of a call lie in memory together.
     */
    int foldChunk() {
        return number ? 1024 : 64;
    }

    /** Returns whether values are signed 64-bit integers. */
    boolean isNumber() {
        return number;
    }

    /** Combines two numbers, as the native library does. */
    long combine(long one, long two) {
        return switch (this) {
            case SUM -> one + two;
            case MIN -> Math.min(one, two);
            case MAX -> Math.max(one, two);
            default -> throw new IllegalStateException(id() + " combines no numbers");
        };
    }

    /** Returns the operand of a serialized value: the timestamp and the value. */
    byte[] operand(long timestamp, byte[] value) {
        return ByteBuffer.allocate(STAMP_BYTES + value.length)
            .putLong(timestamp).put(value).array();
    }

    /**
     * Returns whether operands have a format that only the native library knows, so that it must
     * check each one.
     */
    boolean hasFormat() {
        return this == SET || this == HYPERLOGLOG;
    }

    /**
     * Checks that an aggregation's initial value is neutral. Each operand contains it, so it must
     * not matter how often. That holds for every initial value of {@code min}, {@code max},
     * {@code set} and {@code hyperloglog}.
     *
     * @param initial the initial value, or {@code null} if the aggregation has none
     * @throws ConfigException if the value is not neutral
     */
    <V> void checkInitial(String store, V initial, Serde<V> serde, String topic) {
        if (initial == null || this != SUM && this != APPEND) {
            return;
        }
        byte[] raw = serde.serializer().serialize(topic, initial);
        boolean isNeutral = raw == null
            || (this == APPEND ? raw.length == 0 : Arrays.equals(raw, new byte[Long.BYTES]));
        if (!isNeutral && (this == APPEND || raw.length == Long.BYTES)) {
            throw new ConfigException(FoldbConfig.MERGE_PREFIX + store, id(), "The aggregation"
                + " begins with " + initial + ", and each merge would add it once more: begin with "
                + (this == SUM ? "0" : "an empty value") + " and add the rest where you read, or"
                + " remove this setting");
        }
    }

    /**
     * Checks the serialized value of an operand before it enters the store's buffer.
     *
     * @throws StreamsException if the value is {@code null}, or has a length that the operator
     *     cannot fold
     */
    void check(String store, byte[] value) {
        if (value == null) {
            throw new StreamsException("The value serde of store " + store + " serialized an"
                + " operand to null: use a serde that serializes every operand to bytes");
        }
        if (number && value.length != Long.BYTES) {
            throw new StreamsException("The operand of a merge into store " + store + " has "
                + value.length + " bytes, but the operator " + id() + " needs the 8 bytes of a"
                + " long: give the store Serdes.Long() for its values, or register another"
                + " operator");
        }
    }
}
