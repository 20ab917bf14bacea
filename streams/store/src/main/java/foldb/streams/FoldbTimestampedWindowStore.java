package foldb.streams;

import org.apache.kafka.streams.state.TimestampedBytesStore;

/** A window store whose values carry a timestamp. It stores the bytes that it gets. */
final class FoldbTimestampedWindowStore extends FoldbWindowStore implements TimestampedBytesStore {
    FoldbTimestampedWindowStore(
            final String name,
            final long retention,
            final long interval,
            final long windowSize,
            final boolean retainDuplicates,
            final Order order) {
        super(name, retention, interval, windowSize, retainDuplicates, order);
    }
}
