package foldb.streams;

import java.util.NoSuchElementException;
import java.util.function.Function;
import java.util.function.Predicate;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.state.KeyValueIterator;

/**
 * An iterator over the entries of a window or session store.
 *
 * <p>It has the entries that the store had at its creation, without those that expire before it
 * reaches them. An iterator by time shows their present values, and leaves out deleted entries.
 * Once the iterator is closed it has no more entries.
 *
 * @param <K> how the iterator shows a key
 */
class TimedIterator<K> implements KeyValueIterator<K, byte[]> {
    private final Predicate<TimedKey> wanted;
    private final Function<TimedKey, K> shown;
    private TimedEntries entries;
    private TimedKey nextKey;
    private byte[] nextValue;

    /**
     * Creates an iterator.
     *
     * @param entries the entries; the iterator closes them
     * @param wanted which of them the caller asked for
     * @param shown turns a key into the form that the caller sees
     */
    TimedIterator(
            final TimedEntries entries,
            final Predicate<TimedKey> wanted,
            final Function<TimedKey, K> shown) {
        this.entries = entries;
        this.wanted = wanted;
        this.shown = shown;
    }

    /** An iterator without entries. */
    static <K> TimedIterator<K> empty() {
        return new TimedIterator<>(TimedEntries.NONE, key -> false, key -> null);
    }

    @Override
    public boolean hasNext() {
        while (nextKey == null) {
            final TimedKey key = entries.next();
            if (key == null) {
                return false;
            }
            if (wanted.test(key)) {
                nextValue = entries.value();
                nextKey = nextValue == null ? null : key;
            }
        }
        return true;
    }

    @Override
    public K peekNextKey() {
        if (!hasNext()) {
            throw new NoSuchElementException();
        }
        return shown.apply(nextKey);
    }

    @Override
    public KeyValue<K, byte[]> next() {
        final K key = peekNextKey();
        nextKey = null;
        return KeyValue.pair(key, nextValue);
    }

    @Override
    public void close() {
        nextKey = null;
        entries.close();
        entries = TimedEntries.NONE;
    }
}
