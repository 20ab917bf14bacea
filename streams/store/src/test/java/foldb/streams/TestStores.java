package foldb.streams;

import java.io.File;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.util.Collection;
import java.util.Properties;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.StreamsMetrics;
import org.apache.kafka.streams.processor.StateStore;
import org.apache.kafka.streams.processor.StateStoreContext;
import org.apache.kafka.streams.processor.TaskId;
import org.apache.kafka.streams.processor.api.MockProcessorContext;
import org.apache.kafka.streams.processor.internals.RecordBatchingStateRestoreCallback;

/** Opens stores without a topology. */
final class TestStores {
    private final MockProcessorContext<Object, Object> processor;
    private RecordBatchingStateRestoreCallback restore;
    private boolean replacesMetrics;
    private StreamsMetrics otherMetrics;

    TestStores(final File stateDir, final String guarantee) {
        this(stateDir, guarantee, new Properties());
    }

    TestStores(final File stateDir, final String guarantee, final Properties more) {
        final Properties configs = new Properties();
        configs.put(StreamsConfig.APPLICATION_ID_CONFIG, "test");
        configs.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, "localhost:1");
        configs.put(StreamsConfig.PROCESSING_GUARANTEE_CONFIG, guarantee);
        configs.putAll(more);
        processor = new MockProcessorContext<>(configs, new TaskId(0, 0), stateDir);
    }

    /** Opens a store. */
    <S extends StateStore> S open(final S store) {
        final StateStoreContext inner = processor.getStateStoreContext();
        final StateStoreContext context = (StateStoreContext) Proxy.newProxyInstance(
            getClass().getClassLoader(), new Class<?>[] {StateStoreContext.class},
            (proxy, method, arguments) -> {
                if (method.getName().equals("register")) {
                    restore = (RecordBatchingStateRestoreCallback) arguments[1];
                    return null;
                }
                if (method.getName().equals("metrics") && replacesMetrics) {
                    return otherMetrics;
                }
                try {
                    return method.invoke(inner, arguments);
                } catch (final InvocationTargetException error) {
                    throw error.getCause();
                }
            });
        store.init(context, store);
        return store;
    }

    /** Has the next stores see these metrics, or none. */
    void replaceMetrics(final StreamsMetrics metrics) {
        replacesMetrics = true;
        otherMetrics = metrics;
    }

    /** Sets the record that the next writes come from. */
    void at(final String topic, final int partition, final long offset) {
        processor.setRecordMetadata(topic, partition, offset);
    }

    /** Restores records of the changelog into the store that was opened last. */
    void restore(final Collection<ConsumerRecord<byte[], byte[]>> records) {
        restore.restoreBatch(records);
    }

    /** The metrics of the context. */
    StreamsMetrics metrics() {
        return processor.metrics();
    }
}
