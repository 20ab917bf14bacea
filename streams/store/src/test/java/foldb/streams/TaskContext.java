package foldb.streams;

import java.io.File;
import java.io.IOException;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.streams.processor.CommitCallback;
import org.apache.kafka.streams.processor.StateStore;
import org.apache.kafka.streams.processor.TaskId;
import org.apache.kafka.streams.processor.api.RecordMetadata;
import org.apache.kafka.streams.processor.internals.InternalProcessorContext;
import org.apache.kafka.streams.processor.internals.RecordBatchingStateRestoreCallback;
import org.apache.kafka.streams.processor.internals.metrics.StreamsMetricsImpl;

/** The part of a task that a store sees: a directory, metrics, the record that is processed. */
final class TaskContext implements InvocationHandler {
    private final Path directory;
    private final StreamsMetricsImpl metrics =
        new StreamsMetricsImpl(new Metrics(), "client", Time.SYSTEM);
    private final Map<String, Object> configs = new HashMap<>();
    private RecordMetadata metadata;
    private RecordBatchingStateRestoreCallback restorer;
    private CommitCallback committer;

    TaskContext(final Path directory) {
        this.directory = directory;
        configs.put("application.id", "app");
        configs.put("bootstrap.servers", "none:1");
        configs.put("metrics.recording.level", "INFO");
        configs.put("__iq.consistency.offset.vector.enabled__", true);
    }

    /** Opens a store in the directory of the task. */
    <S extends StateStore> S open(final S store) {
        final InternalProcessorContext<?, ?> context =
            (InternalProcessorContext<?, ?>) Proxy.newProxyInstance(
                getClass().getClassLoader(),
                new Class<?>[] {InternalProcessorContext.class},
                this);
        store.init(context, store);
        return store;
    }

    /** Makes this the record that the task processes. */
    void process(final String topic, final int partition, final long offset) {
        metadata = new RecordMetadata() {
            @Override
            public String topic() {
                return topic;
            }

            @Override
            public int partition() {
                return partition;
            }

            @Override
            public long offset() {
                return offset;
            }
        };
    }

    /** Restores records into the store that was opened last. */
    void restore(final List<ConsumerRecord<byte[], byte[]>> records) {
        restorer.restoreBatch(records);
    }

    /** Lets the store that was opened last write its position, as a task does before it closes. */
    void commit() throws IOException {
        committer.onCommit();
    }

    /** How many records the task has dropped. */
    double dropped() {
        return metrics.metrics().values().stream()
            .filter(metric -> metric.metricName().name().equals("dropped-records-total"))
            .mapToDouble(metric -> (Double) metric.metricValue())
            .sum();
    }

    @Override
    public Object invoke(final Object proxy, final Method method, final Object[] arguments) {
        return switch (method.getName()) {
            case "taskId" -> new TaskId(0, 0);
            case "changelogFor" -> null;
            case "applicationId" -> "app";
            case "stateDir" -> directory.toFile();
            case "metrics" -> metrics;
            case "appConfigs" -> configs;
            case "recordMetadata" -> Optional.ofNullable(metadata);
            case "currentSystemTimeMs" -> 1_000L;
            case "register" -> {
                restorer = (RecordBatchingStateRestoreCallback) arguments[1];
                committer = arguments.length > 2 ? (CommitCallback) arguments[2] : () -> { };
                yield null;
            }
            case "toString" -> "TaskContext in " + new File(directory.toString());
            default -> throw new UnsupportedOperationException(method.toString());
        };
    }
}
