package foldb.streams.it;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.EmitStrategy;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.JoinWindows;
import org.apache.kafka.streams.kstream.KGroupedStream;
import org.apache.kafka.streams.kstream.KStream;
import org.apache.kafka.streams.kstream.KTable;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Produced;
import org.apache.kafka.streams.kstream.SessionWindows;
import org.apache.kafka.streams.kstream.StreamJoined;
import org.apache.kafka.streams.kstream.TimeWindows;
import org.apache.kafka.streams.kstream.Windowed;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.SessionStore;
import org.apache.kafka.streams.state.WindowStore;

/** The topologies of the scenarios. None names a kind of store. */
enum Topologies {
    /** Reads the input, and drops it: what an application without a store costs. */
    NO_STORE(List.of()) {
        @Override
        void build(StreamsBuilder builder, String in, String out) {
            stream(builder, in).foreach((key, value) -> { });
        }
    },
    /**
     * Sends each record to two topics: what an application without a store costs whose table would
     * send each record to its changelog and to its output.
     */
    SENDS(List.of("first", "second")) {
        @Override
        void build(StreamsBuilder builder, String in, String out) {
            KStream<String, Long> all = stream(builder, in);
            outputs().forEach(output ->
                all.to(topic(out, output), Produced.with(Serdes.String(), LONG)));
        }
    },
    /** One table: the sum of each key. */
    SUMS(List.of("sums")) {
        @Override
        void build(StreamsBuilder builder, String in, String out) {
            sums(grouped(builder, in), out);
        }
    },
    /** Three tables of one input: {@code aggregate}, {@code count} and {@code reduce}. */
    TABLES(List.of("sums", "counts", "greatest")) {
        @Override
        void build(StreamsBuilder builder, String in, String out) {
            tables(grouped(builder, in), out);
        }
    },
    /** A count for each window and one for each session. */
    WINDOWS(List.of("windows", "sessions")) {
        @Override
        void build(StreamsBuilder builder, String in, String out) {
            windows(grouped(builder, in), out);
        }
    },
    /**
     * The same, in stores that keep them. After a kill, records come again that may be older than
     * the newest ones of the store by minutes, and the processor does not know it: a store that
     * has dropped their window would count from 1 again.
     */
    KEPT_WINDOWS(List.of("windows", "sessions")) {
        @Override
        void build(StreamsBuilder builder, String in, String out) {
            KGroupedStream<String, Long> grouped = grouped(builder, in);
            windows(grouped, kept("windows"), out);
            sessions(grouped, Materialized.<String, Long, SessionStore<Bytes, byte[]>>as("sessions")
                .withRetention(Duration.ofDays(1)), out);
        }
    },
    /** A count for each session. */
    SESSIONS(List.of("sessions")) {
        @Override
        void build(StreamsBuilder builder, String in, String out) {
            sessions(grouped(builder, in), out);
        }
    },
    /** The tables and the windows, for queries. */
    EVERYTHING(List.of("sums", "counts", "greatest", "windows", "sessions")) {
        @Override
        void build(StreamsBuilder builder, String in, String out) {
            KGroupedStream<String, Long> grouped = grouped(builder, in);
            tables(grouped, out);
            windows(grouped, out);
        }
    },
    /** A count for each minute. */
    TUMBLING(List.of("tumbling")) {
        @Override
        void build(StreamsBuilder builder, String in, String out) {
            minutes(grouped(builder, in), MINUTES, Materialized.as("tumbling"), out);
        }
    },
    /** A count for each minute that begins at a multiple of 12 s: five for each record. */
    HOPPING(List.of("hopping")) {
        @Override
        void build(StreamsBuilder builder, String in, String out) {
            minutes(grouped(builder, in), OVERLAPPING, Materialized.as("hopping"), out);
        }
    },
    /** Both counts of minutes, in stores that keep them, as those of {@link #KEPT_WINDOWS}. */
    MINUTES_TWICE(List.of("tumbling", "hopping")) {
        @Override
        void build(StreamsBuilder builder, String in, String out) {
            KGroupedStream<String, Long> grouped = grouped(builder, in);
            minutes(grouped, MINUTES, kept("tumbling"), out);
            minutes(grouped, OVERLAPPING, kept("hopping"), out);
        }
    },
    /** A count for each window, sent once the window is closed. The keys are those of the input. */
    CLOSED(List.of("closed")) {
        @Override
        void build(StreamsBuilder builder, String in, String out) {
            grouped(builder, in).windowedBy(TimeWindows.ofSizeWithNoGrace(WINDOW))
                .emitStrategy(EmitStrategy.onWindowClose())
                .count(Materialized.as("closed"))
                .toStream((windowed, count) -> windowed.key())
                .to(topic(out, "closed"), Produced.with(Serdes.String(), LONG));
        }
    },
    /** A join of the input with itself: even values with odd ones that are near in time. */
    JOIN(List.of("pairs")) {
        @Override
        void build(StreamsBuilder builder, String in, String out) {
            KStream<String, Long> all = stream(builder, in);
            KStream<String, Long> even = all.filter((key, value) -> value % 2 == 0);
            KStream<String, Long> odd = all.filter((key, value) -> value % 2 == 1);
            JoinWindows near =
                JoinWindows.ofTimeDifferenceAndGrace(Duration.ofSeconds(5), LATE);
            even.join(odd, (left, right) -> left * 100 + right, near,
                    StreamJoined.with(Serdes.String(), LONG, LONG).withStoreName("pairs"))
                .selectKey((key, pair) -> key + "/" + pair)
                .to(topic(out, "pairs"), Produced.with(Serdes.String(), LONG));
        }
    };

    /** The length of a window. */
    static final Duration WINDOW = Duration.ofSeconds(10);
    /** The pause that ends a session. */
    static final Duration GAP = Duration.ofSeconds(3);
    /** How late a record may be. */
    static final Duration LATE = Duration.ofSeconds(20);
    /** The minutes of the tumbling counts. */
    static final TimeWindows MINUTES =
        TimeWindows.ofSizeAndGrace(Duration.ofMinutes(1), LATE);
    /** The minutes of the hopping counts. */
    static final TimeWindows OVERLAPPING = MINUTES.advanceBy(Duration.ofSeconds(12));
    /** The operator of each store that can merge. */
    static final Map<String, String> OPERATORS = Map.of("sums", "sum", "counts", "sum",
        "greatest", "max", "windows", "sum", "sessions", "sum", "tumbling", "sum",
        "hopping", "sum");

    private static final Serde<Long> LONG = Serdes.Long();

    private final List<String> outputs;

    Topologies(List<String> outputs) {
        this.outputs = outputs;
    }

    /** Adds the topology to a builder. */
    abstract void build(StreamsBuilder builder, String in, String out);

    /** Returns the names of the stores with output topics. */
    List<String> outputs() {
        return outputs;
    }

    /** Returns whether a store of the topology merges, if the application has the wrapper. */
    boolean merges() {
        return outputs.stream().anyMatch(OPERATORS::containsKey);
    }

    /** Returns the output topic of a store. */
    static String topic(String out, String store) {
        return out + "-" + store;
    }

    private static KStream<String, Long> stream(StreamsBuilder builder, String in) {
        return builder.stream(in, Consumed.with(Serdes.String(), LONG));
    }

    private static KGroupedStream<String, Long> grouped(StreamsBuilder builder, String in) {
        return stream(builder, in).groupByKey(Grouped.with(Serdes.String(), LONG));
    }

    private static void sums(KGroupedStream<String, Long> grouped, String out) {
        grouped.aggregate(() -> 0L, (key, value, sum) -> sum + value, stored("sums"))
            .toStream().to(topic(out, "sums"), Produced.with(Serdes.String(), LONG));
    }

    private static void tables(KGroupedStream<String, Long> grouped, String out) {
        sums(grouped, out);
        grouped.count(stored("counts"))
            .toStream().to(topic(out, "counts"), Produced.with(Serdes.String(), LONG));
        grouped.reduce(Math::max, stored("greatest"))
            .toStream().to(topic(out, "greatest"), Produced.with(Serdes.String(), LONG));
    }

    private static void windows(KGroupedStream<String, Long> grouped, String out) {
        windows(grouped, Materialized.as("windows"), out);
        sessions(grouped, out);
    }

    private static void windows(KGroupedStream<String, Long> grouped,
                                Materialized<String, Long, WindowStore<Bytes, byte[]>> store,
                                String out) {
        grouped.windowedBy(TimeWindows.ofSizeAndGrace(WINDOW, LATE))
            .count(store)
            .toStream(Topologies::text)
            .to(topic(out, "windows"), Produced.with(Serdes.String(), LONG));
    }

    private static void sessions(KGroupedStream<String, Long> grouped, String out) {
        sessions(grouped, Materialized.as("sessions"), out);
    }

    private static void sessions(KGroupedStream<String, Long> grouped,
                                 Materialized<String, Long, SessionStore<Bytes, byte[]>> store,
                                 String out) {
        grouped.windowedBy(SessionWindows.ofInactivityGapAndGrace(GAP, LATE))
            .count(store)
            .toStream(Topologies::text)
            .to(topic(out, "sessions"), Produced.with(Serdes.String(), LONG));
    }

    private static void minutes(KGroupedStream<String, Long> grouped, TimeWindows windows,
                                Materialized<String, Long, WindowStore<Bytes, byte[]>> store,
                                String out) {
        KTable<Windowed<String>, Long> counts = grouped.windowedBy(windows).count(store);
        counts.toStream(Topologies::text).to(topic(out, counts.queryableStoreName()),
            Produced.with(Serdes.String(), LONG));
    }

    private static Materialized<String, Long, WindowStore<Bytes, byte[]>> kept(String store) {
        return Materialized.<String, Long, WindowStore<Bytes, byte[]>>as(store)
            .withRetention(Duration.ofDays(1));
    }

    private static String text(Windowed<String> key, Long value) {
        return key.key() + "@" + key.window().start() + "-" + key.window().end();
    }

    private static Materialized<String, Long, KeyValueStore<Bytes, byte[]>> stored(String name) {
        return Materialized.<String, Long, KeyValueStore<Bytes, byte[]>>as(name)
            .withKeySerde(Serdes.String()).withValueSerde(LONG);
    }
}
