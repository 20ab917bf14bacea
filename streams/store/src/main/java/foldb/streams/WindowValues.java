package foldb.streams;

import java.util.function.Predicate;
import org.apache.kafka.streams.state.WindowStoreIterator;

/** The values of one key of a window store, each with the start of its window. */
final class WindowValues extends TimedIterator<Long> implements WindowStoreIterator<byte[]> {
    WindowValues(final TimedEntries entries, final Predicate<TimedKey> wanted) {
        super(entries, wanted, TimedKey::time);
    }
}
