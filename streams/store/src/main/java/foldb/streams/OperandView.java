package foldb.streams;

import org.apache.kafka.streams.processor.StateStore;
import org.apache.kafka.streams.processor.api.Record;

/**
 * An aggregation processor's view of a merge store: keys appear absent, and a put is a merge. Only
 * sessions appear as they are ({@link SessionView}).
 */
interface OperandView extends StateStore {
    /** Takes the record that the processor processes next. */
    void begin(Record<?, ?> record);
}
