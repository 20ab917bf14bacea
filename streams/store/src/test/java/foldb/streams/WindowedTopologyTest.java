package foldb.streams;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import java.util.Random;
import java.util.stream.Stream;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.TestInputTopic;
import org.apache.kafka.streams.TestOutputTopic;
import org.apache.kafka.streams.TopologyTestDriver;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.EmitStrategy;
import org.apache.kafka.streams.kstream.JoinWindows;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.KGroupedStream;
import org.apache.kafka.streams.kstream.KStream;
import org.apache.kafka.streams.kstream.KTable;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Produced;
import org.apache.kafka.streams.kstream.SessionWindows;
import org.apache.kafka.streams.kstream.SlidingWindows;
import org.apache.kafka.streams.kstream.StreamJoined;
import org.apache.kafka.streams.kstream.Suppressed;
import org.apache.kafka.streams.kstream.TimeWindows;
import org.apache.kafka.streams.kstream.Windowed;
import org.apache.kafka.streams.state.BuiltInDslStoreSuppliers;
import org.apache.kafka.streams.state.SessionStore;
import org.apache.kafka.streams.state.WindowStore;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** The same topology and input give the same output on the stock stores and on ours. */
class WindowedTopologyTest {
    private static final Duration SIZE = Duration.ofSeconds(20);
    private static final Duration GRACE = Duration.ofSeconds(90);
    private static final String EMIT_INTERVAL =
        StreamsConfig.InternalConfig.EMIT_INTERVAL_MS_KSTREAMS_WINDOWED_AGGREGATION;

    @ParameterizedTest
    @EnumSource(Shape.class)
    void writesTheOutputOfTheStockStores(final Shape shape, @TempDir final Path directory) {
        final List<String> stock = run(
            shape,
            BuiltInDslStoreSuppliers.RocksDBDslStoreSuppliers.class,
            directory.resolve("stock"));
        final List<String> ours =
            run(shape, FoldbStoreSuppliers.class, directory.resolve("ours"));
        assertTrue(stock.size() > 50, "the topology has output, found " + stock.size());
        assertEquals(String.join("\n", stock), String.join("\n", ours));
    }

    private static List<String> run(
            final Shape shape, final Class<?> suppliers, final Path directory) {
        final StreamsBuilder builder = new StreamsBuilder();
        final Consumed<String, String> strings = Consumed.with(Serdes.String(), Serdes.String());
        shape.build(builder.stream("left", strings), builder.stream("right", strings))
            .to("out", Produced.with(Serdes.String(), Serdes.String()));
        final Properties configs = new Properties();
        configs.put(StreamsConfig.APPLICATION_ID_CONFIG, "app");
        configs.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, "none:1");
        configs.put(StreamsConfig.STATE_DIR_CONFIG, directory.toString());
        configs.put(StreamsConfig.DSL_STORE_SUPPLIERS_CLASS_CONFIG, suppliers);
        configs.put(EMIT_INTERVAL, 0L);
        final Random random = new Random(shape.ordinal());
        try (TopologyTestDriver driver = new TopologyTestDriver(builder.build(configs), configs)) {
            final List<TestInputTopic<String, String>> topics = Stream.of("left", "right")
                .map(topic -> driver.createInputTopic(
                    topic, new StringSerializer(), new StringSerializer()))
                .toList();
            final TestOutputTopic<String, String> out = driver.createOutputTopic(
                "out", new StringDeserializer(), new StringDeserializer());
            long now = 0;
            for (int record = 0; record < 300; record++) {
                now += random.nextInt(25) == 0 ? random.nextInt(60_000) : random.nextInt(400);
                final long late = random.nextInt(random.nextInt(200) + 1) * 1_000L;
                final long time = Math.max(0, now - late);
                final String key = "aab".substring(random.nextInt(3)) + random.nextInt(3);
                topics.get(random.nextInt(2)).pipeInput(key, "v" + record, time);
            }
            final List<String> records = new ArrayList<>();
            out.readRecordsToList().forEach(record -> records.add(
                record.key() + "=" + record.value() + " at " + record.timestamp()));
            return records;
        }
    }

    /** A topology of two streams. */
    enum Shape {
        WINDOWED_COUNT {
            @Override
            KStream<String, String> build(
                    final KStream<String, String> left, final KStream<String, String> right) {
                return text(left.groupByKey()
                    .windowedBy(TimeWindows.ofSizeAndGrace(SIZE, GRACE))
                    .count());
            }
        },
        HOPPING_COUNT_SUPPRESSED {
            @Override
            KStream<String, String> build(
                    final KStream<String, String> left, final KStream<String, String> right) {
                return text(left.groupByKey()
                    .windowedBy(TimeWindows.ofSizeAndGrace(SIZE, GRACE)
                        .advanceBy(Duration.ofSeconds(5)))
                    .count(Materialized.with(Serdes.String(), Serdes.Long()))
                    .suppress(Suppressed.untilWindowCloses(
                        Suppressed.BufferConfig.unbounded())));
            }
        },
        SESSION_COUNT {
            @Override
            KStream<String, String> build(
                    final KStream<String, String> left, final KStream<String, String> right) {
                return text(sessions(left.groupByKey(), EmitStrategy.onWindowUpdate()));
            }
        },
        SESSION_COUNT_ON_CLOSE {
            @Override
            KStream<String, String> build(
                    final KStream<String, String> left, final KStream<String, String> right) {
                return text(sessions(left.groupByKey(), EmitStrategy.onWindowClose()));
            }
        },
        SLIDING_COUNT {
            @Override
            KStream<String, String> build(
                    final KStream<String, String> left, final KStream<String, String> right) {
                return text(sliding(left.groupByKey(), EmitStrategy.onWindowUpdate()));
            }
        },
        SLIDING_COUNT_ON_CLOSE {
            @Override
            KStream<String, String> build(
                    final KStream<String, String> left, final KStream<String, String> right) {
                return text(sliding(left.groupByKey(), EmitStrategy.onWindowClose()));
            }
        },
        HOPPING_COUNT_ON_CLOSE {
            @Override
            KStream<String, String> build(
                    final KStream<String, String> left, final KStream<String, String> right) {
                return text(hopping(left.groupByKey(), false));
            }
        },
        HOPPING_COUNT_ON_CLOSE_CACHED {
            @Override
            KStream<String, String> build(
                    final KStream<String, String> left, final KStream<String, String> right) {
                return text(hopping(left.groupByKey(), true));
            }
        },
        WINDOWS_OF_COUNTS_ON_CLOSE {
            // The following window drops as late what comes out of the order of time.
            @Override
            KStream<String, String> build(
                    final KStream<String, String> left, final KStream<String, String> right) {
                return text(hopping(left.groupByKey(), true).toStream()
                    .groupBy((window, count) -> window.key().substring(0, 1),
                        Grouped.with(Serdes.String(), Serdes.Long()))
                    .windowedBy(TimeWindows.ofSizeWithNoGrace(Duration.ofSeconds(10)))
                    .count());
            }
        },
        INNER_JOIN {
            @Override
            KStream<String, String> build(
                    final KStream<String, String> left, final KStream<String, String> right) {
                return left.join(
                    right,
                    (one, two) -> one + two,
                    JoinWindows.ofTimeDifferenceAndGrace(SIZE, GRACE),
                    StreamJoined.with(Serdes.String(), Serdes.String(), Serdes.String()));
            }
        },
        OUTER_JOIN {
            @Override
            KStream<String, String> build(
                    final KStream<String, String> left, final KStream<String, String> right) {
                return left.outerJoin(
                    right,
                    (one, two) -> one + two,
                    JoinWindows.ofTimeDifferenceAndGrace(SIZE, GRACE),
                    StreamJoined.with(Serdes.String(), Serdes.String(), Serdes.String()));
            }
        };

        abstract KStream<String, String> build(
            KStream<String, String> left, KStream<String, String> right);

        private static KTable<Windowed<String>, Long> sessions(
                final KGroupedStream<String, String> grouped, final EmitStrategy emit) {
            return grouped
                .windowedBy(SessionWindows.ofInactivityGapAndGrace(Duration.ofSeconds(3), GRACE))
                .emitStrategy(emit)
                .count(Materialized.<String, Long, SessionStore<
                    Bytes, byte[]>>as("sessions")
                    .withKeySerde(Serdes.String()));
        }

        private static KTable<Windowed<String>, Long> sliding(
                final KGroupedStream<String, String> grouped, final EmitStrategy emit) {
            return grouped
                .windowedBy(SlidingWindows.ofTimeDifferenceAndGrace(SIZE, GRACE))
                .emitStrategy(emit)
                .count();
        }

        private static KTable<Windowed<String>, Long> hopping(
                final KGroupedStream<String, String> grouped, final boolean cached) {
            final Materialized<
                String, Long, WindowStore<Bytes, byte[]>> store =
                    Materialized.as("counts");
            // With the shortest retention only the last window that closes is still readable.
            store.withRetention(Duration.ofMinutes(10));
            return grouped
                .windowedBy(TimeWindows.ofSizeAndGrace(SIZE, GRACE)
                    .advanceBy(Duration.ofSeconds(5)))
                .emitStrategy(EmitStrategy.onWindowClose())
                .count(cached ? store.withCachingEnabled() : store.withCachingDisabled());
        }

        private static KStream<String, String> text(final KTable<Windowed<String>, Long> counts) {
            return counts.toStream((window, count) -> window.toString())
                .mapValues(count -> count == null ? null : count.toString());
        }
    }
}
