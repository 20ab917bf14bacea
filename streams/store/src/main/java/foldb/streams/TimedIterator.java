package foldb.streams;

import java.util.NoSuchElementException;
import java.util.function.Function;
import java.util.function.Predicate;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.state.KeyValueIterator;

/**
 * An iterator over the entries of a window or session store.
 *
 * <p>It has the entries that the store has at the first call of {@link #hasNext}, in the intervals
 * that it had at the iterator's creation, without those that expire before it reaches them. An
 * iterator by time shows their present values, and leaves out deleted entries.
 * Once the iterator is closed it has no more entries.
 *
 * @param <K> how the iterator shows a key
 */
class TimedIterator<K> implements KeyValueIterator<K, byte[]> {
    private final Predicate<TimedKey> wanted;
    private final Function<TimedKey, K> shown;
    private TimedEntries entries;
    /** An entry that was met and is not looked at yet: a call that failed comes again. */
    private TimedKey met;
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
            if (met == null) {
                met = entries.next();
            }
            if (met == null) {
                return false;
            }
            if (wanted.test(met)) {
                nextValue = entries.value();
                nextKey = nextValue == null ? null : met;
            }
            met = null;
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
        final KeyValue<K, byte[]> entry = KeyValue.pair(peekNextKey(), nextValue);
        nextKey = null;
        return entry;
    }

    @Override
    public void close() {
        nextKey = null;
        met = null;
        entries.close();
        entries = TimedEntries.NONE;
    }
}
