package foldb.streams;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import org.apache.kafka.streams.processor.StateStore;
import org.apache.kafka.streams.processor.api.ProcessorContext;
import org.apache.kafka.streams.processor.internals.InternalProcessorContext;

/**
 * The context of an aggregation processor that merges: Streams' own context, except that one store
 * is another. The processor asks its context for the store once, and then only for the metadata of
 * dropped records and to forward, so reflection costs nothing per record.
 */
final class AggregatorContext implements InvocationHandler {
    private final InternalProcessorContext<?, ?> context;
    private final String storeName;
    private final StateStore store;

    private AggregatorContext(
            InternalProcessorContext<?, ?> context, String storeName, StateStore store) {
        this.context = context;
        this.storeName = storeName;
        this.store = store;
    }

    @SuppressWarnings("unchecked")
    static <K, V> ProcessorContext<K, V> of(
            InternalProcessorContext<K, V> context, String storeName, StateStore store) {
        return (ProcessorContext<K, V>) Proxy.newProxyInstance(
            AggregatorContext.class.getClassLoader(),
            new Class<?>[] {InternalProcessorContext.class},
            new AggregatorContext(context, storeName, store));
    }

    @Override
    public Object invoke(Object proxy, Method method, Object[] arguments) throws Throwable {
        if (method.getName().equals("getStateStore") && storeName.equals(arguments[0])) {
            return store;
        }
        try {
            return method.invoke(context, arguments);
        } catch (InvocationTargetException e) {
            throw e.getCause();
        }
    }
}
