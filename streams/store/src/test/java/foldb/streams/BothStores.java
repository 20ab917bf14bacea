package foldb.streams;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertLinesMatch;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.regex.Pattern;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.kstream.Windowed;
import org.apache.kafka.streams.processor.StateStore;
import org.apache.kafka.streams.query.PositionBound;
import org.apache.kafka.streams.query.Query;
import org.apache.kafka.streams.query.QueryConfig;
import org.apache.kafka.streams.query.QueryResult;
import org.apache.kafka.streams.state.KeyValueIterator;

/** A store of Kafka Streams and one of ours that must answer alike. */
final class BothStores<S extends StateStore> implements AutoCloseable {
    private final Supplier<S> stockSupplier;
    private final Supplier<S> oursSupplier;
    private final TaskContext stockTask;
    private final TaskContext oursTask;
    private S stock;
    private S ours;
    private long offset;

    BothStores(final Path directory, final Supplier<S> stock, final Supplier<S> ours)
            throws IOException {
        stockSupplier = stock;
        oursSupplier = ours;
        stockTask = new TaskContext(Files.createDirectory(directory.resolve("stock")));
        oursTask = new TaskContext(Files.createDirectory(directory.resolve("ours")));
        open();
    }

    /** The store that shows what is right. */
    S stock() {
        return stock;
    }

    /** The store under test. */
    S ours() {
        return ours;
    }

    /** Applies a write to both stores, as part of the next record of the input. */
    void write(final Consumer<S> write) {
        offset++;
        stockTask.process("input", (int) (offset % 3), offset);
        oursTask.process("input", (int) (offset % 3), offset);
        write.accept(stock);
        write.accept(ours);
        assertEquals(stock.getPosition(), ours.getPosition());
        assertEquals(stockTask.dropped(), oursTask.dropped());
    }

    /** Asks both stores and compares the answers, or the exceptions. */
    void same(final String what, final Function<S, Object> question) {
        final Object expected = answer(stock, question);
        final Object actual = answer(ours, question);
        if (expected instanceof List<?> wanted && actual instanceof List<?> found) {
            assertLinesMatch(lines(wanted), lines(found), what);
        } else {
            assertEquals(expected, actual, what);
        }
    }

    // assertLinesMatch reads a line as a regular expression if it differs. Quoting prevents that.
    private static List<String> lines(final List<?> texts) {
        return texts.stream().map(text -> Pattern.quote(text.toString())).toList();
    }

    /** Restores the same records into both stores. */
    void restore(final List<ConsumerRecord<byte[], byte[]>> records) {
        stockTask.restore(records);
        oursTask.restore(records);
        assertEquals(stock.getPosition(), ours.getPosition());
    }

    /** Closes both stores and opens them again. */
    void reopen() throws IOException {
        if (!KafkaVersions.STORES_KEEP_OFFSETS) {
            // There the stock stores keep their position in a file of the task.
            stockTask.commit();
            oursTask.commit();
        }
        close();
        open();
    }

    @Override
    public void close() {
        stock.close();
        ours.close();
    }

    private void open() {
        stock = stockTask.open(stockSupplier.get());
        ours = oursTask.open(oursSupplier.get());
    }

    private static <S> Object answer(final S store, final Function<S, Object> question) {
        try {
            final Object answer = question.apply(store);
            if (answer instanceof KeyValueIterator<?, ?> entries) {
                return drain(entries);
            }
            return answer instanceof byte[] value ? Bytes.wrap(value) : answer;
        } catch (final RuntimeException e) {
            return e.getClass();
        }
    }

    /** The answer of a store to an interactive query; it has the position that the store has. */
    static <R> R query(final StateStore store, final Query<R> query) {
        final QueryResult<R> result =
            store.query(query, PositionBound.unbounded(), new QueryConfig(false));
        assertEquals(store.getPosition(), result.getPosition());
        return result.getResult();
    }

    /** All entries of an iterator as text, with what it says about the next key. */
    static List<String> drain(final KeyValueIterator<?, ?> entries) {
        final List<String> texts = new ArrayList<>();
        try (entries) {
            while (entries.hasNext()) {
                final Object peeked = entries.peekNextKey();
                final KeyValue<?, ?> entry = entries.next();
                assertEquals(peeked, entry.key);
                texts.add(text(entry.key) + "=" + Bytes.wrap((byte[]) entry.value));
            }
        }
        return texts;
    }

    private static String text(final Object key) {
        if (key instanceof Windowed<?> windowed) {
            return windowed.key() + "@" + windowed.window().start() + "-" + windowed.window().end();
        }
        return key.toString();
    }

    /** Keys of different lengths. Many are prefixes of others. */
    static Bytes key(final Random random) {
        final byte[] alphabet = {1, 'a', 'b', (byte) 0xFF};
        final byte[] key = new byte[1 + random.nextInt(4)];
        for (int i = 0; i < key.length; i++) {
            key[i] = alphabet[random.nextInt(i == 0 ? 2 : alphabet.length)];
        }
        return Bytes.wrap(key);
    }

    /** A key, or null one time in eight. */
    static Bytes bound(final Random random) {
        return random.nextInt(8) == 0 ? null : key(random);
    }
}
