package foldb.streams;

import java.io.File;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.header.Headers;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.streams.processor.StateRestoreCallback;
import org.apache.kafka.streams.processor.TaskId;
import org.apache.kafka.streams.processor.internals.InternalProcessorContext;
import org.apache.kafka.streams.processor.internals.ProcessorRecordContext;
import org.apache.kafka.streams.processor.internals.RecordBatchingStateRestoreCallback;
import org.apache.kafka.streams.processor.internals.StateRestoreCallbackAdapter;
import org.apache.kafka.streams.processor.internals.metrics.StreamsMetricsImpl;
import org.apache.kafka.streams.state.internals.RecordConverters;

/** A task's context for one store: it keeps what the store logs, and can restore from it. */
final class LoggingContext {
    private final Map<String, Object> configs;
    private final Path directory;
    private final List<ConsumerRecord<byte[], byte[]>> log = new ArrayList<>();
    private final InternalProcessorContext<?, ?> context;
    private final StreamsMetricsImpl metrics = new StreamsMetricsImpl(
        new Metrics(), "process", Time.SYSTEM);
    private ProcessorRecordContext recordContext;
    private StateRestoreCallback callback;

    LoggingContext(Path directory, Map<String, Object> configs) {
        this.directory = directory;
        this.configs = configs;
        this.context = (InternalProcessorContext<?, ?>) Proxy.newProxyInstance(
            LoggingContext.class.getClassLoader(),
            new Class<?>[] {InternalProcessorContext.class},
            (proxy, method, arguments) -> answer(method, arguments));
    }

    private Object answer(Method method, Object[] arguments) {
        switch (method.getName()) {
            case "taskId":
                return new TaskId(0, 0);
            case "applicationId":
                return "app";
            case "appConfigs":
                return configs;
            case "stateDir":
                return new File(directory.toString());
            case "metrics":
                return metrics;
            case "recordContext":
                return recordContext;
            case "recordMetadata":
                return Optional.ofNullable(recordContext);
            case "headers":
                return new RecordHeaders();
            case "currentSystemTimeMs":
                return 0L;
            case "changelogFor":
                return "changelog";
            case "setRecordContext":
                recordContext = (ProcessorRecordContext) arguments[0];
                return null;
            case "register":
                callback = (StateRestoreCallback) arguments[1];
                return null;
            case "logChange":
                log.add(new ConsumerRecord<>("changelog", 0, log.size(), (long) arguments[3],
                    TimestampType.CREATE_TIME, 0, 0, ((Bytes) arguments[1]).get(),
                    (byte[]) arguments[2], headers(arguments[4]), Optional.empty()));
                return null;
            default:
                throw new UnsupportedOperationException(method.toString());
        }
    }

    /** Before 4.3 a logged change has a position there, and no headers. */
    private static Headers headers(Object argument) {
        return argument instanceof Headers headers ? headers : new RecordHeaders();
    }

    InternalProcessorContext<?, ?> context() {
        return context;
    }

    /** Begins the next record of the input. */
    void next(long offset, long timestamp) {
        recordContext =
            new ProcessorRecordContext(timestamp, offset, 0, "input", new RecordHeaders());
    }

    List<ConsumerRecord<byte[], byte[]>> log() {
        return log;
    }

    /** Returns the sum of a metric over the open stores. */
    double metric(String name) {
        return metrics.metrics().entrySet().stream()
            .filter(metric -> metric.getKey().name().equals(name))
            .mapToDouble(metric -> ((Number) metric.getValue().metricValue()).doubleValue()).sum();
    }

    /** Restores the store from a changelog of a timestamped store, as Streams does. */
    void restore(List<ConsumerRecord<byte[], byte[]>> changelog) {
        RecordBatchingStateRestoreCallback restore = StateRestoreCallbackAdapter.adapt(callback);
        restore.restoreBatch(changelog.stream()
            .map(RecordConverters.rawValueToTimestampedValue()::convert).toList());
    }
}
