package foldb.streams;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import foldb.streams.MergeScenario.Event;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Properties;
import java.util.Random;
import java.util.function.Consumer;
import java.util.stream.IntStream;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.KGroupedStream;
import org.apache.kafka.streams.kstream.KStream;
import org.apache.kafka.streams.kstream.KTable;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Produced;
import org.apache.kafka.streams.kstream.Reducer;
import org.apache.kafka.streams.kstream.SessionWindowedKStream;
import org.apache.kafka.streams.kstream.SessionWindows;
import org.apache.kafka.streams.kstream.TimeWindowedKStream;
import org.apache.kafka.streams.kstream.TimeWindows;
import org.apache.kafka.streams.kstream.Windowed;
import org.apache.kafka.streams.processor.StateStore;
import org.apache.kafka.streams.state.KeyValueIterator;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.SessionStore;
import org.apache.kafka.streams.state.WindowStore;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Draws topologies of one to three aggregations from a seed, and runs each on stock stores, on
 * stock stores with the record cache, and as merges. {@code -Dfoldb.topologies=1000} draws as many;
 * {@code -Dfoldb.topologies.first=N} begins with another seed.
 *
 * <p>Everywhere the last record of each key is that of the stock store. Where nothing folds before
 * a commit, outputs and changelogs also have the records of the record cache. Those of windows and
 * sessions have its order.
 */
@KafkaConditions.NeedsMerges
class RandomTopologiesTest extends ComparedMerges {
    private static final Grouped<String, Long> GROUPED =
        Grouped.with(Serdes.String(), Serdes.Long());
    private static final int COMMITS = 15;

    static IntStream seeds() {
        int first = Integer.getInteger("foldb.topologies.first", 1);
        return IntStream.range(first, first + Integer.getInteger("foldb.topologies", 40));
    }

    private enum Over { ALL_TIME, TUMBLING, HOPPING, SESSIONS }

    private enum By {
        COUNT("sum"), SUM("sum"), GREATEST("max"), LEAST("min"), WEIGHTED_SUM("sum");

        private final String operator;

        By(String operator) {
            this.operator = operator;
        }

        Reducer<Long> reducer() {
            return switch (this) {
                case GREATEST -> Math::max;
                case LEAST -> Math::min;
                default -> Long::sum;
            };
        }
    }

    /**
     * An aggregation into a store.
     *
     * @param store its name, which is also the name of the output topic
     * @param size of a window, or the pause that ends a session
     * @param advance from a hopping window to the next
     * @param longer by how much the store keeps windows longer than it must
     * @param skips events are left out whose values this divides
     * @param isRekeyed whether another key comes first, which sends events through a topic
     * @param isCached whether the record cache may hold updates back, where it is on
     * @param isLogged whether the store has a changelog
     * @param isFollowed whether another store counts the updates; it merges too
     */
    private record Part(String store, Over over, By by, Duration size, Duration advance,
                        Duration grace, Duration longer, int skips, boolean isRekeyed,
                        boolean isCached, boolean isLogged, boolean isFollowed) {

        static Part draw(Random random, int number) {
            Over over = Over.values()[random.nextInt(Over.values().length)];
            By by = By.values()[random.nextInt(By.values().length)];
            int size = 1 + random.nextInt(1 << (4 + random.nextInt(12)));
            int overlaps = 1 + random.nextInt(9);
            int grace = random.nextInt(4) == 0 ? 0 : random.nextInt(90_000);
            // Below the record cache, a late record finds sessions whose retention has ended. So
            // no event goes back as far as sessions are kept.
            int hours = over == Over.SESSIONS ? 3 : random.nextInt(3);
            return new Part("store" + number, over, by, Duration.ofMillis(size),
                Duration.ofMillis(Math.max(1, size / overlaps)), Duration.ofMillis(grace),
                Duration.ofHours(hours), 2 + random.nextInt(9), random.nextInt(5) == 0,
                random.nextInt(6) != 0, random.nextInt(8) != 0, random.nextInt(4) == 0);
        }

        String following() {
            return store + "-following";
        }

        void declare(KStream<String, Long> events) {
            // An aggregator of windows gets null values too, and these cannot add them.
            boolean takesNull = by == By.COUNT || over == Over.ALL_TIME;
            KStream<String, Long> some = events.filter((key, value) ->
                value == null ? takesNull : value % skips != 0);
            KGroupedStream<String, Long> grouped = !isRekeyed ? some.groupByKey(GROUPED)
                : some.groupBy((key, value) -> key == null ? null : key.substring(1), GROUPED);
            KStream<String, Long> updates = updates(grouped);
            updates.to(store, Produced.with(Serdes.String(), Serdes.Long()));
            if (isFollowed) {
                updates.filter((key, value) -> value != null)
                    .groupBy((key, value) -> "of " + value % 3, GROUPED)
                    .count(Materialized.<String, Long, KeyValueStore<Bytes, byte[]>>as(following())
                        .withKeySerde(Serdes.String()).withValueSerde(Serdes.Long()))
                    .toStream()
                    .to(following(), Produced.with(Serdes.String(), Serdes.Long()));
            }
        }

        private KStream<String, Long> updates(KGroupedStream<String, Long> grouped) {
            return switch (over) {
                case ALL_TIME -> table(grouped).toStream();
                case TUMBLING -> named(windows(grouped.windowedBy(
                    TimeWindows.ofSizeAndGrace(size, grace))));
                case HOPPING -> named(windows(grouped.windowedBy(
                    TimeWindows.ofSizeAndGrace(size, grace).advanceBy(advance))));
                case SESSIONS -> named(sessions(grouped.windowedBy(
                    SessionWindows.ofInactivityGapAndGrace(size, grace))));
            };
        }

        private static KStream<String, Long> named(KTable<Windowed<String>, Long> table) {
            return table.toStream((window, value) -> window.toString());
        }

        private KTable<String, Long> table(KGroupedStream<String, Long> grouped) {
            Materialized<String, Long, KeyValueStore<Bytes, byte[]>> stored = stored();
            return switch (by) {
                case COUNT -> grouped.count(stored);
                case WEIGHTED_SUM -> grouped.aggregate(() -> 0L, Part::weighted, stored);
                default -> grouped.reduce(by.reducer(), stored);
            };
        }

        private KTable<Windowed<String>, Long> windows(TimeWindowedKStream<String, Long> windowed) {
            Materialized<String, Long, WindowStore<Bytes, byte[]>> stored = stored();
            return switch (by) {
                case COUNT -> windowed.count(stored);
                case WEIGHTED_SUM -> windowed.aggregate(() -> 0L, Part::weighted, stored);
                default -> windowed.reduce(by.reducer(), stored);
            };
        }

        private KTable<Windowed<String>, Long> sessions(
                SessionWindowedKStream<String, Long> windowed) {
            Materialized<String, Long, SessionStore<Bytes, byte[]>> stored = stored();
            return switch (by) {
                case COUNT -> windowed.count(stored);
                case WEIGHTED_SUM -> windowed.aggregate(() -> 0L, Part::weighted,
                    (key, one, two) -> one + two, stored);
                default -> windowed.reduce(by.reducer(), stored);
            };
        }

        private static Long weighted(String key, Long value, Long sum) {
            return sum + 3 * value;
        }

        private <S extends StateStore> Materialized<String, Long, S> stored() {
            Materialized<String, Long, S> stored = Materialized.<String, Long, S>as(store)
                .withKeySerde(Serdes.String()).withValueSerde(Serdes.Long())
                .withRetention(size.plus(grace).plus(longer));
            if (!isCached) {
                stored.withCachingDisabled();
            }
            return isLogged ? stored : stored.withLoggingDisabled();
        }

        /** Keys without windows leave a merge in the order of the keys: records are sorted then. */
        List<String> inItsOrder(List<String> records) {
            return over != Over.ALL_TIME ? records
                : records.stream().sorted(Comparator.comparing(Part::key)).toList();
        }

        private static String key(String record) {
            return record.split("=")[0];
        }

        /** Returns what the store has, in its order. */
        List<String> contents(MergeScenario scenario) {
            List<String> found = new ArrayList<>();
            var driver = scenario.driver();
            switch (over) {
                case ALL_TIME -> note(found, driver.getTimestampedKeyValueStore(store).all());
                case TUMBLING, HOPPING -> {
                    note(found, driver.getTimestampedWindowStore(store).all());
                    note(found, driver.getTimestampedWindowStore(store).backwardAll());
                }
                case SESSIONS ->
                    note(found, driver.<String, Long>getSessionStore(store).fetch("", "z"));
            }
            return found;
        }

        private static void note(List<String> found, KeyValueIterator<?, ?> entries) {
            try (entries) {
                entries.forEachRemaining(entry -> found.add(entry.key + "=" + entry.value));
            }
        }
    }

    /** What a seed draws. */
    private record Draw(List<Part> parts, String guarantee, int mostDirty, int verifies) {
        static Draw of(Random random) {
            List<Part> parts = new ArrayList<>();
            for (int number = random.nextInt(3); number >= 0; number--) {
                parts.add(Part.draw(random, number));
            }
            return new Draw(List.copyOf(parts),
                random.nextBoolean() ? StreamsConfig.AT_LEAST_ONCE : StreamsConfig.EXACTLY_ONCE_V2,
                random.nextInt(4) == 0 ? 1 + random.nextInt(30) : 0,
                random.nextInt(4) == 0 ? 1 + random.nextInt(5) : 0);
        }

        Properties merging(Properties properties) {
            for (Part part : parts) {
                properties.put("foldb.merge." + part.store, part.by.operator);
                if (part.isFollowed) {
                    properties.put("foldb.merge." + part.following(), "sum");
                }
            }
            if (mostDirty > 0) {
                properties.put("foldb.dirty.keys.max", String.valueOf(mostDirty));
            }
            if (verifies > 0) {
                properties.put("foldb.merge.verify", String.valueOf(verifies));
            }
            return properties;
        }
    }

    @ParameterizedTest
    @MethodSource("seeds")
    void aTopologyGivesWhatTheStockStoresGive(int seed) {
        Random random = new Random(seed);
        Draw draw = Draw.of(random);
        EventClock clock = new EventClock(random);
        Consumer<KStream<String, Long>> declare =
            events -> draw.parts.forEach(part -> part.declare(events));
        try (MergeScenario stock = MergeScenario.start(stock(draw.guarantee), declare);
                MergeScenario cached = MergeScenario.start(cached(draw.guarantee), declare);
                MergeScenario merging = MergeScenario.start(draw.merging(
                    MergeScenario.merging(directory.resolve("merging"), draw.guarantee)),
                    declare)) {
            for (int commit = 0; commit < COMMITS; commit++) {
                List<Event> batch = new ArrayList<>(clock.draw(1 + random.nextInt(60)));
                if (random.nextInt(4) == 0) {
                    batch.add(new Event(null, 1L, clock.now()));
                    batch.add(new Event("b", null, clock.now()));
                }
                for (MergeScenario scenario : List.of(stock, cached, merging)) {
                    scenario.commit(batch);
                }
                if (commit % 4 == 0) {
                    for (Part part : draw.parts) {
                        assertEquals(part.contents(stock), part.contents(merging), part::toString);
                    }
                }
            }
            for (Part part : draw.parts) {
                assertEquals(part.contents(stock), part.contents(merging), part::toString);
                assertTrue(merging.metric("merge-total", part.store) > 0, part::toString);
                assertTrue(!part.isFollowed || merging.metric("merge-total", part.following()) > 0,
                    part::toString);
            }
            assertEquals(cached.metric("dropped-records-total"),
                merging.metric("dropped-records-total"), draw::toString);
            draw.parts.forEach(part ->
                compare(part, draw.mostDirty == 0 && part.isCached, stock, cached, merging));
        }
    }

    /**
     * Compares the outputs and the changelog of an aggregation.
     *
     * @param isExact whether each commit has the records of the record cache
     */
    private static void compare(Part part, boolean isExact, MergeScenario stock,
                                MergeScenario cached, MergeScenario merging) {
        List<String> output = merging.output(part.store);
        assertTrue(!output.isEmpty(), part::toString);
        compare(part, isExact, stock.output(part.store), cached.output(part.store), output);
        if (part.isLogged) {
            compare(part, isExact, stock.logged(part.store), cached.logged(part.store),
                merging.logged(part.store));
        }
        if (part.isFollowed && isExact && part.over != Over.ALL_TIME) {
            assertEquals(cached.output(part.following()), merging.output(part.following()),
                part::toString);
        }
    }

    private static void compare(Part part, boolean isExact, List<String> stock,
                                List<String> cached, List<String> merging) {
        assertEquals(MergeScenario.live(stock), MergeScenario.live(merging), part::toString);
        if (isExact) {
            assertEquals(part.inItsOrder(cached), part.inItsOrder(merging), part::toString);
        }
    }
}
