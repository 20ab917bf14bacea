package foldb.streams;

import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.function.Function;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.errors.StreamsException;

/**
 * What the aggregators of a merge store computed for some keys since the last fold, beside the
 * merges. A fold that finds another value fails the task.
 *
 * <p>A shadow begins with the value that the store has at the first record after a fold. So each
 * fold checks the records since the fold before, and the shadows take no more memory than the dirty
 * keys.
 */
final class ShadowValues {
    private final String store;
    private final MergeOperator operator;
    private final Map<Bytes, Shadow> shadows = new HashMap<>();

    ShadowValues(String store, MergeOperator operator) {
        this.store = store;
        this.operator = operator;
    }

    /**
     * A key's value as an aggregator computed it.
     *
     * @param key the key as the user knows it
     * @param value the timestamp and serialized value, or {@code null} if the key is absent
     * @param shown shows a serialized value to the user
     */
    record Shadow(Object key, byte[] value, Function<byte[], Object> shown) {
        private String show(byte[] stamped) {
            return stamped == null ? "no value" : shown.apply(stamped).toString();
        }
    }

    /** Returns the shadow of a stored key, or {@code null} if it has none since the last fold. */
    Shadow get(Bytes stored) {
        return shadows.get(stored);
    }

    void set(Bytes stored, Shadow shadow) {
        shadows.put(stored, shadow);
    }

    /** Forgets a key that got its value in another way. */
    void forget(Bytes stored) {
        shadows.remove(stored);
    }

    void clear() {
        shadows.clear();
    }

    /**
     * Compares a folded value with the shadow, if there is one.
     *
     * @throws StreamsException if they differ
     */
    void check(Bytes stored, byte[] folded) {
        Shadow shadow = shadows.get(stored);
        if (shadow == null) {
            return;
        }
        // A shadow that differs stays: if a handler lets the task go on, the next fold fails too.
        if (!Arrays.equals(shadow.value(), folded)) {
            throw new StreamsException("The merges of store " + store + " differ from its"
                + " aggregation: key " + shadow.key() + " folds to " + shadow.show(folded)
                + ", and the aggregator computes " + shadow.show(shadow.value()) + ". Check that"
                + " the operator " + operator.id() + " combines what the aggregator returns for"
                + " fresh initial values, and that the initial value changes nothing; or remove "
                + FoldbConfig.MERGE_PREFIX + store + " from the configuration and delete the"
                + " store's state and changelog");
        }
        shadows.remove(stored);
    }
}
