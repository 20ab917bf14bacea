package foldb.streams;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import foldb.streams.MergeScenario.Event;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.errors.StreamsException;
import org.apache.kafka.streams.kstream.EmitStrategy;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.KStream;
import org.apache.kafka.streams.kstream.KTable;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Produced;
import org.apache.kafka.streams.kstream.SessionWindowedKStream;
import org.apache.kafka.streams.kstream.SessionWindows;
import org.apache.kafka.streams.kstream.Suppressed;
import org.apache.kafka.streams.kstream.Windowed;
import org.apache.kafka.streams.processor.api.ContextualProcessor;
import org.apache.kafka.streams.processor.api.Processor;
import org.apache.kafka.streams.processor.api.ProcessorSupplier;
import org.apache.kafka.streams.processor.api.Record;
import org.apache.kafka.streams.state.KeyValueIterator;
import org.apache.kafka.streams.state.SessionStore;
import org.apache.kafka.streams.state.Stores;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Runs the same sessions on stock stores and as merges. Outputs and changelogs have the records of
 * the stock store with its record cache, in the same order. Contents and dropped records are those
 * of the stock store without a cache.
 *
 * <p>Below the record cache, time stands still between two commits: a late record then finds
 * sessions whose retention has ended. Without the cache, and in a merge, it does not. So orders are
 * compared where the retention is long.
 */
@KafkaConditions.NeedsMerges
class SessionMergeTest extends ComparedMerges {
    private static final Grouped<String, Long> GROUPED =
        Grouped.with(Serdes.String(), Serdes.Long());
    private static final SessionWindows SHORT = SessionWindows.ofInactivityGapAndGrace(
        Duration.ofSeconds(3), Duration.ofSeconds(50));
    /** Sessions that grow for long, and unite with others. */
    private static final SessionWindows LONG = SessionWindows.ofInactivityGapAndGrace(
        Duration.ofSeconds(20), Duration.ofSeconds(50));

    /** Before 4.3 a processor's session store does not iterate backward, whoever made it. */
    private static final boolean READS_BACKWARD = KafkaVersions.STORES_KEEP_OFFSETS;

    /** An aggregation of sessions into the store {@code store}, and its operator. */
    enum Shape {
        COUNT("sum", SHORT) {
            @Override
            KTable<Windowed<String>, Long> table(SessionWindowedKStream<String, Long> sessions) {
                return sessions.count(store());
            }
        },
        LONG_SESSIONS("sum", LONG) {
            @Override
            KTable<Windowed<String>, Long> table(SessionWindowedKStream<String, Long> sessions) {
                return sessions.reduce(Long::sum, store());
            }
        },
        WITHOUT_GAP("max", SessionWindows.ofInactivityGapAndGrace(
            Duration.ofMillis(1), Duration.ofSeconds(50))) {
            @Override
            KTable<Windowed<String>, Long> table(SessionWindowedKStream<String, Long> sessions) {
                return sessions.reduce(Math::max, store());
            }
        },
        WITHOUT_GRACE("sum", SessionWindows.ofInactivityGapWithNoGrace(Duration.ofSeconds(5))) {
            @Override
            KTable<Windowed<String>, Long> table(SessionWindowedKStream<String, Long> sessions) {
                return sessions.count(store());
            }
        },
        /** An aggregator that is no operator: the operator has no part in sessions. */
        HASHES("sum", LONG) {
            @Override
            KTable<Windowed<String>, Long> table(SessionWindowedKStream<String, Long> sessions) {
                return sessions.aggregate(() -> 17L, (key, value, hash) -> 31 * hash + value,
                    (key, one, two) -> one ^ two, store());
            }
        },
        /** The aggregator deletes sessions, and forgets what they were. */
        DELETES("sum", LONG) {
            @Override
            KTable<Windowed<String>, Long> table(SessionWindowedKStream<String, Long> sessions) {
                return sessions.aggregate(() -> 0L,
                    (key, value, sum) -> value % 4 == 0 ? null : sum + value,
                    (key, one, two) -> one + two, store());
            }
        },
        SHORT_RETENTION("sum", LONG) {
            @Override
            KTable<Windowed<String>, Long> table(SessionWindowedKStream<String, Long> sessions) {
                return sessions.count(briefStore());
            }
        },
        SESSIONS_OF_SESSIONS("sum", SHORT) {
            // The following sessions drop as late what comes out of the order of time.
            @Override
            KTable<Windowed<String>, Long> table(SessionWindowedKStream<String, Long> sessions) {
                return sessions.count(store()).toStream()
                    .filter((session, count) -> count != null)
                    .groupBy((session, count) -> session.key().substring(0, 1), GROUPED)
                    .windowedBy(SessionWindows.ofInactivityGapWithNoGrace(Duration.ofSeconds(9)))
                    .count(Materialized.<String, Long, SessionStore<Bytes, byte[]>>as("following")
                        .withCachingDisabled());
            }
        };

        private final String operator;
        private final SessionWindows windows;

        Shape(String operator, SessionWindows windows) {
            this.operator = operator;
            this.windows = windows;
        }

        abstract KTable<Windowed<String>, Long> table(
            SessionWindowedKStream<String, Long> sessions);

        void declare(KStream<String, Long> events) {
            write(table(events.groupByKey(GROUPED).windowedBy(windows)));
        }
    }

    private static Materialized<String, Long, SessionStore<Bytes, byte[]>> store() {
        return briefStore().withRetention(Duration.ofHours(1));
    }

    /** A store that keeps sessions no longer than late records need. */
    private static Materialized<String, Long, SessionStore<Bytes, byte[]>> briefStore() {
        return Materialized.<String, Long, SessionStore<Bytes, byte[]>>as("store")
            .withKeySerde(Serdes.String()).withValueSerde(Serdes.Long());
    }

    private static void write(KTable<Windowed<String>, Long> table) {
        table.toStream((session, value) -> session.toString())
            .to("output", Produced.with(Serdes.String(), Serdes.Long()));
    }

    /** Returns what several kinds of reads find, in their order. */
    private static List<String> contents(MergeScenario scenario, long now) {
        SessionStore<String, Long> store = scenario.driver().getSessionStore("store");
        List<String> found = new ArrayList<>();
        for (String key : List.of("aab1", "ab2", "b3")) {
            note(found, store.fetch(key));
            note(found, store.backwardFetch(key));
            note(found, store.findSessions(
                key, Math.max(0, now - 60_000), Math.max(0, now - 20_000)));
            note(found, store.backwardFindSessions(key, now - 60_000, now));
        }
        note(found, store.fetch("a", "b9"));
        note(found, store.backwardFindSessions("a", "b9", Math.max(0, now - 90_000), now));
        try (var all = store.fetch("a", "b9")) {
            all.forEachRemaining(entry -> {
                var window = entry.key.window();
                found.add("" + store.fetchSession(
                    entry.key.key(), window.start(), window.end()));
            });
        }
        return found;
    }

    private static void note(List<String> found,
            KeyValueIterator<Windowed<String>, Long> entries) {
        try (entries) {
            entries.forEachRemaining(entry -> found.add(entry.key + "=" + entry.value));
        }
    }

    @ParameterizedTest
    @EnumSource(Shape.class)
    void sessionsEqualTheStockStores(Shape shape) {
        compare(shape, StreamsConfig.AT_LEAST_ONCE);
    }

    @ParameterizedTest
    @EnumSource(names = {"COUNT", "HASHES"})
    void sessionsEqualTheStockStoresUnderExactlyOnce(Shape shape) {
        compare(shape, StreamsConfig.EXACTLY_ONCE_V2);
    }

    private void compare(Shape shape, String guarantee) {
        Random random = new Random(shape.ordinal() + 1);
        EventClock clock = new EventClock(random);
        try (MergeScenario stock = MergeScenario.start(stock(guarantee), shape::declare);
                MergeScenario cached = MergeScenario.start(cached(guarantee), shape::declare);
                MergeScenario merging =
                    MergeScenario.start(merging(guarantee, shape.operator), shape::declare)) {
            for (int commit = 0; commit < 40; commit++) {
                List<Event> batch = clock.draw(1 + random.nextInt(60));
                for (MergeScenario scenario : List.of(stock, cached, merging)) {
                    scenario.commit(batch);
                }
                if (commit % 3 == 0) {
                    assertEquals(contents(stock, clock.now()), contents(merging, clock.now()));
                }
            }
            List<String> log = merging.logged();
            assertTrue(log.size() > 150, "sessions were logged: " + log.size());
            assertEquals(MergeScenario.live(stock.logged()), MergeScenario.live(log));
            List<String> output = merging.output();
            if (shape == Shape.SHORT_RETENTION) {
                assertEquals(MergeScenario.live(stock.output()), MergeScenario.live(output));
            } else {
                assertEquals(String.join("\n", cached.logged()), String.join("\n", log));
                assertEquals(String.join("\n", cached.output()), String.join("\n", output));
            }
            assertTrue(merging.metric("merge-total") > log.size(), "several merges make one fold");
            assertEquals(cached.metric("dropped-records-total"),
                merging.metric("dropped-records-total"));
        }
    }

    @Test
    void aStoredKeyThatOneSessionCoversIsReadOncePerCommit() {
        List<Event> batch = new ArrayList<>();
        for (int i = 0; i < 1000; i++) {
            batch.add(new Event("key", 1L, 1000 + i));
        }
        try (MergeScenario merging = MergeScenario.start(
                merging(StreamsConfig.AT_LEAST_ONCE, "sum"), Shape.COUNT::declare)) {
            merging.commit(batch);
            assertEquals(List.of("[key@1000/1999]=1000 at 1999"), merging.output());
            // The store knows that it has no session of this key.
            assertEquals(0, merging.metric("merge-get-total"));
            assertEquals(1, merging.metric("merge-fold-total"));
            assertEquals(0, merging.metric("merge-early-fold-total"));
            merging.commit(List.of(new Event("key", 1L, 2500), new Event("key", 1L, 2600)));
            assertEquals(
                List.of("[key@1000/1999]=null at 1999", "[key@1000/2600]=1002 at 2600"),
                merging.output());
            assertEquals(1, merging.metric("merge-get-total"));
        }
    }

    /** Sessions 10-10, 20-20 and 30-30 of a gap of 5 s; a late record unites two of them. */
    @Test
    void aLateRecordUnitesStoredSessionsAndReadsNoOthers() {
        Consumer<KStream<String, Long>> topology = events -> write(events.groupByKey(GROUPED)
            .windowedBy(SessionWindows.ofInactivityGapAndGrace(
                Duration.ofSeconds(5), Duration.ofSeconds(50)))
            .count(store()));
        List<Event> first = List.of(new Event("key", 1L, 10_000), new Event("key", 1L, 20_000),
            new Event("key", 1L, 30_000));
        List<Event> second = List.of(new Event("key", 1L, 15_000), new Event("key", 1L, 16_000),
            new Event("key", 1L, 25_000));
        try (MergeScenario cached =
                    MergeScenario.start(cached(StreamsConfig.AT_LEAST_ONCE), topology);
                MergeScenario merging = MergeScenario.start(
                    merging(StreamsConfig.AT_LEAST_ONCE, "sum"), topology)) {
            for (List<Event> batch : List.of(first, second)) {
                cached.commit(batch);
                merging.commit(batch);
                assertEquals(cached.output(), merging.output());
                assertEquals(cached.logged(), merging.logged());
            }
            try (var all = merging.driver().<String, Long>getSessionStore("store").fetch("key")) {
                assertEquals("[key@10000/30000]=6", all.peekNextKey() + "=" + all.next().value);
                assertTrue(!all.hasNext());
            }
        }
    }

    @Test
    void aStoreOfSessionsFoldsEarlyAtItsBound() {
        for (String bound : List.of("foldb.dirty.keys.max=7", "foldb.dirty.bytes.max=6000")) {
            Properties properties = merging(StreamsConfig.AT_LEAST_ONCE, "sum");
            properties.put(bound.split("=")[0], bound.split("=")[1]);
            Consumer<KStream<String, Long>> topology = Shape.COUNT::declare;
            try (MergeScenario stock =
                        MergeScenario.start(stock(StreamsConfig.AT_LEAST_ONCE), topology);
                    MergeScenario cached =
                        MergeScenario.start(cached(StreamsConfig.AT_LEAST_ONCE), topology);
                    MergeScenario merging = MergeScenario.start(properties, topology)) {
                commitAll(10, stock, cached, merging);
                List<String> logged = merging.logged();
                assertTrue(merging.metric("merge-early-fold-total") > 20, bound);
                assertTrue(logged.size() > cached.logged().size(), "early folds log");
                assertEquals(MergeScenario.live(stock.logged()), MergeScenario.live(logged));
            }
        }
    }

    @Test
    void aSessionThatExpiresBeforeTheCommitIsStillLoggedAndForwarded() {
        List<Event> batch = List.of(new Event("old", 1L, 1000), new Event("old", 1L, 2000),
            new Event("new", 1L, 1_000_000_000), new Event("old", 1L, 3000));
        Consumer<KStream<String, Long>> topology = Shape.SHORT_RETENTION::declare;
        try (MergeScenario cached =
                    MergeScenario.start(cached(StreamsConfig.AT_LEAST_ONCE), topology);
                MergeScenario merging = MergeScenario.start(
                    merging(StreamsConfig.AT_LEAST_ONCE, "sum"), topology)) {
            cached.commit(batch);
            merging.commit(batch);
            assertEquals(cached.logged(), merging.logged());
            List<String> output = merging.output();
            assertEquals(cached.output(), output);
            assertEquals("[old@1000/2000]=2 at 2000", output.get(0));
            assertEquals(1, merging.metric("dropped-records-total"), "the last is late");
            SessionStore<String, Long> store = merging.driver().getSessionStore("store");
            try (var all = store.fetch("a", "z")) {
                assertEquals("new", all.next().key.key());
                assertTrue(!all.hasNext(), "the old session has expired");
            }
        }
    }

    @Test
    void cogroupedSessionsMergeIntoOneStore() {
        Consumer<KStream<String, Long>> topology = events -> {
            var odd = events.filter((key, value) -> value % 2 != 0).groupByKey(GROUPED);
            var even = events.filter((key, value) -> value % 2 == 0).groupByKey(GROUPED);
            write(odd.<Long>cogroup((key, value, sum) -> sum + value)
                .cogroup(even, (key, value, sum) -> sum + 2 * value)
                .windowedBy(LONG)
                .aggregate(() -> 0L, (key, one, two) -> one + two, store()));
        };
        try (MergeScenario cached =
                    MergeScenario.start(cached(StreamsConfig.AT_LEAST_ONCE), topology);
                MergeScenario merging = MergeScenario.start(
                    merging(StreamsConfig.AT_LEAST_ONCE, "sum"), topology)) {
            commitAll(20, cached, merging);
            assertTrue(merging.metric("merge-total") > 0);
            assertEquals(cached.logged(), merging.logged());
            assertEquals(cached.output(), merging.output());
        }
    }

    @ParameterizedTest
    @EnumSource(names = {"LONG_SESSIONS", "DELETES", "COUNT"})
    void processorsReadSessionsBetweenCommitsAndTheLogStaysThatOfTheCache(Shape shape) {
        Consumer<KStream<String, Long>> topology = events -> {
            shape.table(events.groupByKey(GROUPED).windowedBy(shape.windows));
            events.process(new Reader(), "store")
                .to("output", Produced.with(Serdes.String(), Serdes.Long()));
        };
        try (MergeScenario stock =
                    MergeScenario.start(stock(StreamsConfig.AT_LEAST_ONCE), topology);
                MergeScenario cached =
                    MergeScenario.start(cached(StreamsConfig.AT_LEAST_ONCE), topology);
                MergeScenario merging = MergeScenario.start(
                    merging(StreamsConfig.AT_LEAST_ONCE, "sum"), topology)) {
            commitAll(20, stock, cached, merging);
            assertEquals(stock.output(), merging.output());
            assertEquals(cached.logged(), merging.logged());
        }
    }

    /** The database would keep the grown session, and the changelog the one before, for ever. */
    @Test
    void aStoreThatEndsBetweenCommitsLeavesTheSessionsOfTheLastOne() {
        Bytes key = Bytes.wrap(new byte[] {7});
        TimedKey before = new TimedKey(key, 3, 1);
        TimedKey after = new TimedKey(key, 4, 1);
        LoggingContext context = new LoggingContext(directory,
            Map.of(StreamsConfig.PROCESSING_GUARANTEE_CONFIG, StreamsConfig.AT_LEAST_ONCE));
        FoldbMergingSessionStore store = open(context);
        context.next(1, 3);
        assertEquals(List.of(), store.merges().find(key, 0, 9));
        store.merges().put(before, new byte[] {1});
        store.flushCache();
        context.next(2, 4);
        assertEquals(1, store.merges().find(key, 0, 9).size());
        store.merges().remove(before);
        store.merges().put(after, new byte[] {2});
        assertEquals(List.of(FoldbSessionStore.windowed(after)), sessions(store));
        store.close();
        FoldbMergingSessionStore again = open(context);
        assertEquals(List.of(FoldbSessionStore.windowed(before)), sessions(again));
        again.close();
    }

    private static FoldbMergingSessionStore open(LoggingContext context) {
        FoldbMergingSessionStore store = (FoldbMergingSessionStore)
            new MergingSessionStoreSupplier("store", 3_600_000, MergeOperator.SUM).get();
        store.init(context.context(), store);
        return store;
    }

    private static List<Windowed<Bytes>> sessions(FoldbMergingSessionStore store) {
        List<Windowed<Bytes>> sessions = new ArrayList<>();
        try (var all = store.fetch(null, null)) {
            all.forEachRemaining(session -> sessions.add(session.key));
        }
        return sessions;
    }

    /** A query may come between a session's end and the put of a longer one, but sees no two. */
    @Test
    void queriesOfOtherThreadsNeverSeeASessionTwice() throws Exception {
        FoldbMergingSessionStore store = open(new LoggingContext(directory,
            Map.of(StreamsConfig.PROCESSING_GUARANTEE_CONFIG, StreamsConfig.AT_LEAST_ONCE)));
        AtomicBoolean ends = new AtomicBoolean();
        CompletableFuture<Integer> seen = CompletableFuture.supplyAsync(() -> {
            int found = 0;
            while (!ends.get()) {
                List<Windowed<Bytes>> all = sessions(store);
                found += all.size();
                assertEquals(all.size(), all.stream().map(Windowed::key).distinct().count(),
                    all.toString());
            }
            return found;
        });
        TimedKey[] open = new TimedKey[20];
        for (int time = 1; time < 40_000; time++) {
            int key = time % open.length;
            Bytes raw = Bytes.wrap(new byte[] {(byte) key});
            TimedKey grown = new TimedKey(raw, time, open[key] == null ? time : open[key].rest());
            for (var session : store.merges().find(raw, time - 100, time + 100)) {
                assertEquals(open[key], session.key);
                store.merges().remove(session.key);
            }
            store.merges().put(grown, new byte[] {1});
            open[key] = grown;
            if (time % 97 == 0) {
                store.flushCache();
            }
        }
        ends.set(true);
        assertTrue(seen.get() > 0);
        store.close();
    }

    @Test
    void aStoreOfTheUserKeepsItsRetention() {
        for (boolean merges : new boolean[] {false, true}) {
            var supplier = merges ? FoldbStores.sessionStore("store", Duration.ofHours(1))
                : Stores.persistentSessionStore("store", Duration.ofHours(1));
            Consumer<KStream<String, Long>> topology = events ->
                events.groupByKey(GROUPED)
                    .windowedBy(SessionWindows.ofInactivityGapWithNoGrace(Duration.ofSeconds(5)))
                    .count(Materialized.<String, Long>as(supplier)
                        .withKeySerde(Serdes.String()).withValueSerde(Serdes.Long()));
            Properties properties = merges ? merging(StreamsConfig.AT_LEAST_ONCE, "sum")
                : stock(StreamsConfig.AT_LEAST_ONCE);
            try (MergeScenario scenario = MergeScenario.start(properties, topology)) {
                scenario.commit(List.of(new Event("a", 1L, 0), new Event("b", 1L, 1_000_000)));
                assertEquals(merges ? 2 : -1, scenario.metric("merge-total"));
                SessionStore<String, Long> store = scenario.driver().getSessionStore("store");
                try (var found = store.fetch("a")) {
                    assertEquals(1L, found.next().value);
                }
            }
        }
    }

    @Test
    void aKeyThatIsTooLongFailsAtItsOwnRecord() {
        try (MergeScenario merging = MergeScenario.start(
                merging(StreamsConfig.AT_LEAST_ONCE, "sum"), Shape.COUNT::declare)) {
            // The stored key has 25 bytes besides: the longest one passes the fold too.
            merging.commit(List.of(new Event("k".repeat((512 << 10) - 25), 1L, 1000)));
            assertEquals(1, merging.metric("merge-fold-total"));
            Event event = new Event("k".repeat((512 << 10) - 24), 1L, 1000);
            Throwable error =
                assertThrows(StreamsException.class, () -> merging.commit(List.of(event)));
            String message = error + " " + error.getCause();
            assertTrue(message.contains("bytes, at most 524288 are possible"), message);
        }
    }

    @Test
    void aDeletedSessionMovesTheTime() {
        Consumer<KStream<String, Long>> topology = Shape.DELETES::declare;
        List<Event> batch = List.of(new Event("aab1", 1L, 0), new Event("b", 4L, 9_000_000));
        try (MergeScenario stock =
                    MergeScenario.start(stock(StreamsConfig.AT_LEAST_ONCE), topology);
                MergeScenario merging = MergeScenario.start(
                    merging(StreamsConfig.AT_LEAST_ONCE, "sum"), topology)) {
            stock.commit(batch);
            merging.commit(batch);
            assertEquals(List.of(), contents(stock, 1000));
            assertEquals(List.of(), contents(merging, 1000));
        }
    }

    /** Forwards the values of the sessions near each record. */
    private static final class Reader
        implements ProcessorSupplier<String, Long, String, Long> {
        @Override
        public Processor<String, Long, String, Long> get() {
            return new ContextualProcessor<>() {
                @Override
                public void process(Record<String, Long> record) {
                    SessionStore<String, Long> store = context().getStateStore("store");
                    long time = record.timestamp();
                    forward(record, store.findSessions(
                        record.key(), time - 40_000, time + 40_000));
                    forward(record, store.fetch("a", "b9"));
                    if (READS_BACKWARD) {
                        forward(record,
                            store.backwardFindSessions("a", record.key(), 0, time));
                        forward(record, store.backwardFetch(record.key()));
                    }
                    try (var found = store.fetch(record.key())) {
                        found.forEachRemaining(session -> context().forward(record.withValue(
                            store.fetchSession(record.key(), session.key.window().start(),
                                session.key.window().end()))));
                    }
                }

                private void forward(Record<String, Long> record,
                        KeyValueIterator<Windowed<String>, Long> sessions) {
                    try (sessions) {
                        sessions.forEachRemaining(session -> context().forward(record
                            .withKey(session.key.toString()).withValue(session.value)));
                    }
                }
            };
        }
    }

    @Test
    void sessionsThatEmitWhenTheyCloseStayStock() {
        staysStock("windows that emit when they close", events ->
            write(events.groupByKey(GROUPED).windowedBy(SHORT)
                .emitStrategy(EmitStrategy.onWindowClose()).count(store())));
    }

    @Test
    void suppressedSessionsStayStock() {
        staysStock("a downstream operation needs old values", events ->
            write(events.groupByKey(GROUPED).windowedBy(SHORT).count(store())
                .suppress(Suppressed.untilWindowCloses(Suppressed.BufferConfig.unbounded()))));
    }
}
