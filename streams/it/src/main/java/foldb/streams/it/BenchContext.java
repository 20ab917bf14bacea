package foldb.streams.it;

import java.io.File;
import java.time.Duration;
import java.time.Instant;
import java.util.Map;
import org.apache.kafka.common.header.Headers;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.common.utils.LogContext;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.processor.Cancellable;
import org.apache.kafka.streams.processor.CommitCallback;
import org.apache.kafka.streams.processor.PunctuationType;
import org.apache.kafka.streams.processor.Punctuator;
import org.apache.kafka.streams.processor.StateRestoreCallback;
import org.apache.kafka.streams.processor.StateStore;
import org.apache.kafka.streams.processor.TaskId;
import org.apache.kafka.streams.processor.To;
import org.apache.kafka.streams.processor.api.FixedKeyRecord;
import org.apache.kafka.streams.processor.api.Record;
import org.apache.kafka.streams.processor.internals.AbstractProcessorContext;
import org.apache.kafka.streams.processor.internals.ProcessorRecordContext;
import org.apache.kafka.streams.processor.internals.RecordBatchingStateRestoreCallback;
import org.apache.kafka.streams.processor.internals.RecordCollector;
import org.apache.kafka.streams.processor.internals.StateManager;
import org.apache.kafka.streams.processor.internals.StateRestoreCallbackAdapter;
import org.apache.kafka.streams.processor.internals.StreamTask;
import org.apache.kafka.streams.processor.internals.Task.TaskType;
import org.apache.kafka.streams.processor.internals.metrics.StreamsMetricsImpl;
import org.apache.kafka.streams.query.Position;
import org.apache.kafka.streams.state.internals.ThreadCache;
import org.apache.kafka.streams.state.internals.ThreadCache.DirtyEntryFlushListener;

/** The context of a task without a broker. It keeps the restore callback of the last store. */
final class BenchContext extends AbstractProcessorContext<Object, Object> {
    private static final String TOPIC = "bench";

    private final File directory;
    private RecordBatchingStateRestoreCallback restore;

    private BenchContext(File directory, StreamsConfig config, StreamsMetricsImpl metrics) {
        super(new TaskId(0, 0), config, metrics, new ThreadCache(new LogContext(), 0, metrics));
        this.directory = directory;
        setRecordContext(
            new ProcessorRecordContext(1_700_000_000_000L, 7, 0, TOPIC, new RecordHeaders()));
    }

    static BenchContext of(File directory, Map<String, String> settings) {
        StreamsMetricsImpl metrics =
            new StreamsMetricsImpl(new Metrics(), "bench", Time.SYSTEM);
        return new BenchContext(directory, new StreamsConfig(settings), metrics);
    }

    /** Returns the callback that restores the store that registered last. */
    RecordBatchingStateRestoreCallback restore() {
        return restore;
    }

    @Override
    public void register(StateStore store, StateRestoreCallback callback, CommitCallback commit) {
        restore = StateRestoreCallbackAdapter.adapt(callback);
    }

    @Override
    public File stateDir() {
        return directory;
    }

    @Override
    public TaskType taskType() {
        return TaskType.ACTIVE;
    }

    @Override
    public String changelogFor(String store) {
        return TOPIC + "-" + store + "-changelog";
    }

    @Override
    protected StateManager stateManager() {
        throw new UnsupportedOperationException();
    }

    @Override
    public long currentStreamTimeMs() {
        return 0;
    }

    @Override
    public void commit() {
    }

    @Override
    public void transitionToActive(StreamTask task, RecordCollector collector, ThreadCache cache) {
    }

    @Override
    public void transitionToStandby(ThreadCache cache) {
    }

    @Override
    public void registerCacheFlushListener(String name, DirtyEntryFlushListener listener) {
    }

    @Override
    public void logChange(String store, Bytes key, byte[] value, long timestamp, Headers headers,
                          Position position) {
    }

    @Override
    public <S extends StateStore> S getStateStore(String name) {
        throw new UnsupportedOperationException();
    }

    @Override
    public Cancellable schedule(Duration interval, PunctuationType type, Punctuator punctuator) {
        throw new UnsupportedOperationException();
    }

    @Override
    public Cancellable schedule(Instant start, Duration interval, PunctuationType type,
                                Punctuator punctuator) {
        throw new UnsupportedOperationException();
    }

    @Override
    public <K, V> void forward(K key, V value) {
        throw new UnsupportedOperationException();
    }

    @Override
    public <K, V> void forward(K key, V value, To to) {
        throw new UnsupportedOperationException();
    }

    @Override
    public <K, V> void forward(Record<K, V> record) {
        throw new UnsupportedOperationException();
    }

    @Override
    public <K, V> void forward(Record<K, V> record, String child) {
        throw new UnsupportedOperationException();
    }

    @Override
    public <K, V> void forward(FixedKeyRecord<K, V> record) {
        throw new UnsupportedOperationException();
    }

    @Override
    public <K, V> void forward(FixedKeyRecord<K, V> record, String child) {
        throw new UnsupportedOperationException();
    }
}
