package foldb.streams;

import java.util.Set;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.kstream.internals.MaterializedStoreFactory;
import org.apache.kafka.streams.processor.StateStore;
import org.apache.kafka.streams.processor.api.Processor;
import org.apache.kafka.streams.processor.api.ProcessorContext;
import org.apache.kafka.streams.processor.api.ProcessorSupplier;
import org.apache.kafka.streams.processor.api.Record;
import org.apache.kafka.streams.processor.api.WrappedProcessorSupplier;
import org.apache.kafka.streams.processor.internals.InternalProcessorContext;
import org.apache.kafka.streams.processor.internals.StoreFactory.FactoryWrappingStoreBuilder;
import org.apache.kafka.streams.state.StoreBuilder;
import org.apache.kafka.streams.state.internals.WrappedStateStore;

/**
 * Supplies aggregation processors that merge.
 *
 * <p>A merging processor is the stock processor over another view of its store: the store appears
 * empty, and what the processor puts is merged ({@link OperandView}). The stock code thus runs the
 * aggregator on a fresh value, drops records with null keys or values, and counts and logs them.
 * Sessions alone appear as they are ({@link SessionView}).
 */
final class MergingProcessorSupplier<KIn, VIn, KOut, VOut>
    implements WrappedProcessorSupplier<KIn, VIn, KOut, VOut> {
    private final String processorName;
    private final ProcessorSupplier<KIn, VIn, KOut, VOut> stock;
    private final MergingStoreFactory factory;
    private final AtomicBoolean logged = new AtomicBoolean();

    MergingProcessorSupplier(String processorName,
            ProcessorSupplier<KIn, VIn, KOut, VOut> stock,
            MaterializedStoreFactory<?, ?, ?> materializer, MergeOperator operator) {
        this.processorName = processorName;
        this.stock = stock;
        this.factory = new MergingStoreFactory(
            materializer, operator, () -> Aggregation.sendsOldValues(stock));
        checkInitial();
    }

    /** Refuses an initial value that is not neutral now, if no serde of the user must tell. */
    private void checkInitial() {
        if (factory.hasSessions()) {
            return;
        }
        Object initial = Aggregation.of(stock).initializer().apply();
        if (initial instanceof Long number) {
            factory.operator().checkInitial(factory.storeName(), number, Serdes.Long(), null);
        } else if (initial instanceof String text) {
            factory.operator().checkInitial(factory.storeName(), text, Serdes.String(), null);
        }
    }

    @Override
    public Set<StoreBuilder<?>> stores() {
        return Set.of(new FactoryWrappingStoreBuilder<>(factory));
    }

    @Override
    public Processor<KIn, VIn, KOut, VOut> get() {
        return new MergingProcessor(stock.get());
    }

    private void logStock(String obstacle) {
        if (logged.compareAndSet(false, true)) {
            MergingProcessorWrapper.logStock(processorName, factory.storeName(), obstacle);
        }
    }

    private final class MergingProcessor implements Processor<KIn, VIn, KOut, VOut> {
        private final Processor<KIn, VIn, KOut, VOut> stockProcessor;
        private OperandView view;

        MergingProcessor(Processor<KIn, VIn, KOut, VOut> stockProcessor) {
            this.stockProcessor = stockProcessor;
        }

        @Override
        public void init(ProcessorContext<KOut, VOut> context) {
            stockProcessor.init(contextFor(context));
        }

        private ProcessorContext<KOut, VOut> contextFor(ProcessorContext<KOut, VOut> context) {
            String name = factory.storeName();
            StateStore store = context.getStateStore(name);
            if (!(context instanceof InternalProcessorContext<KOut, VOut> internal)
                    || !(store instanceof WrappedStateStore<?, ?, ?> layers)
                    || Layers.find(layers, MergingStore.class) == null) {
                logStock(factory.obstacle());
                return context;
            }
            view = view(layers, internal);
            return AggregatorContext.of(internal, name, view);
        }

        private OperandView view(
                WrappedStateStore<?, ?, ?> layers, InternalProcessorContext<?, ?> context) {
            if (factory.hasSessions()) {
                return SessionView.over(layers, RecordSerdes.of(factory, context));
            }
            Operands<?, ?> operands = Operands.of(
                layers, factory, Aggregation.of(stock), context);
            Runnable logOldValues = () -> logStock("a downstream operation needs old values");
            return factory.isWindowStore()
                ? WindowOperandStore.over(layers, operands, logOldValues)
                : OperandStore.over(layers, operands, logOldValues);
        }

        @Override
        public void process(Record<KIn, VIn> record) {
            if (view != null) {
                view.begin(record);
            }
            stockProcessor.process(record);
        }

        @Override
        public void close() {
            stockProcessor.close();
        }
    }
}
