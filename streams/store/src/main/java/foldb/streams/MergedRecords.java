package foldb.streams;

import java.util.ArrayList;
import java.util.List;
import org.apache.kafka.streams.processor.internals.ProcessorRecordContext;
import org.apache.kafka.streams.query.Position;

/**
 * The newest records that a buffer of merges has and the store's position lacks, one for each
 * partition. They enter the position after the write of the buffer, so that it never claims a merge
 * that the database lacks.
 */
final class MergedRecords {
    private final FoldbStore store;
    private final List<ProcessorRecordContext> merged = new ArrayList<>();

    MergedRecords(FoldbStore store) {
        this.store = store;
    }

    /**
     * Notes a merged record, in place of an earlier one from the same partition. A store that folds
     * may forward records in another order.
     */
    void note(ProcessorRecordContext current) {
        if (current == null || current.topic() == null) {
            return;
        }
        for (int i = 0; i < merged.size(); i++) {
            ProcessorRecordContext before = merged.get(i);
            if (before.partition() == current.partition()
                    && before.topic().equals(current.topic())) {
                if (current.offset() > before.offset()) {
                    merged.set(i, current);
                }
                return;
            }
        }
        merged.add(current);
    }

    /** Adds the records to the position of the store, whose database has their merges. */
    void written() {
        Position position = store.getPosition();
        synchronized (position) {
            for (ProcessorRecordContext record : merged) {
                position.withComponent(record.topic(), record.partition(), record.offset());
            }
        }
        merged.clear();
    }

    void clear() {
        merged.clear();
    }
}
