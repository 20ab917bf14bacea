package foldb.streams;

import java.util.concurrent.atomic.LongAdder;
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
    private final LongAdder reads = new LongAdder();

    void register(StateStoreContext context, String scope, String store) {
        StreamsMetricsImpl registry = ProcessorContextUtils.metricsImpl(context);
        String task = context.taskId().toString();
        add(registry, task, scope, store, "merge-total", "Operands merged", merges);
        add(registry, task, scope, store, "merge-fold-total",
            "Keys that commits read, each to fold its operands", folds);
        add(registry, task, scope, store, "merge-get-total",
            "Keys that processors and queries read", reads);
    }

    private static void add(StreamsMetricsImpl registry, String task, String scope, String store,
            String name, String description, LongAdder counter) {
        registry.addStoreLevelMutableMetric(task, scope, store, name, description,
            RecordingLevel.INFO, (config, now) -> counter.sum());
    }

    void merged() {
        merges.increment();
    }

    void folded(int keys) {
        folds.add(keys);
    }

    void read() {
        reads.increment();
    }
}
