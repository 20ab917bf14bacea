package foldb.streams;

import java.util.concurrent.atomic.LongAdder;
import java.util.function.IntSupplier;
import java.util.function.LongSupplier;
import org.apache.kafka.common.metrics.Sensor.RecordingLevel;
import org.apache.kafka.streams.processor.StateStoreContext;
import org.apache.kafka.streams.processor.internals.ProcessorContextUtils;
import org.apache.kafka.streams.processor.internals.metrics.StreamsMetricsImpl;

/**
 * Counts the merges and reads of a merge store, in Streams' registry at the level of state stores.
 * A count is a gauge over a plain counter: a sensor would cost more than the merge.
 */
final class MergeMetrics {
    private final LongAdder merges = new LongAdder();
    private final LongAdder folds = new LongAdder();
    private final LongAdder foldReads = new LongAdder();
    private final LongAdder reads = new LongAdder();
    private final LongAdder earlyFolds = new LongAdder();

    void register(
            StateStoreContext context, String scope, String store, IntSupplier dirtyKeys,
            LongSupplier dirtyBytes) {
        StreamsMetricsImpl registry = ProcessorContextUtils.metricsImpl(context);
        String task = context.taskId().toString();
        add(registry, task, scope, store, "merge-total",
            "Operands merged, and records that changed a session", merges);
        add(registry, task, scope, store, "merge-fold-total",
            "Keys that commits folded", folds);
        add(registry, task, scope, store, "merge-fold-get-total",
            "Keys that commits read in the database to fold them", foldReads);
        add(registry, task, scope, store, "merge-get-total",
            "Keys that processors and queries read", reads);
        add(registry, task, scope, store, "merge-early-fold-total",
            "Times that changed keys reached a bound before the commit", earlyFolds);
        registry.addStoreLevelMutableMetric(task, scope, store, "merge-dirty-keys",
            "Keys with changes that no commit has folded", RecordingLevel.INFO,
            (config, now) -> (long) dirtyKeys.getAsInt());
        registry.addStoreLevelMutableMetric(task, scope, store, "merge-dirty-bytes",
            "Memory of these keys in bytes", RecordingLevel.INFO,
            (config, now) -> dirtyBytes.getAsLong());
    }

    private static void add(StreamsMetricsImpl registry, String task, String scope, String store,
            String name, String description, LongAdder counter) {
        registry.addStoreLevelMutableMetric(task, scope, store, name, description,
            RecordingLevel.INFO, (config, now) -> counter.sum());
    }

    void foldedEarly() {
        earlyFolds.increment();
    }

    void merged() {
        merges.increment();
    }

    void folded(int keys) {
        folds.add(keys);
    }

    void readInFold(int keys) {
        foldReads.add(keys);
    }

    void read() {
        reads.increment();
    }
}
