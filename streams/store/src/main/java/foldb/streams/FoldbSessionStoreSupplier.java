package foldb.streams;

import java.time.Duration;
import java.util.Objects;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.kstream.EmitStrategy;
import org.apache.kafka.streams.state.DslSessionParams;
import org.apache.kafka.streams.state.SessionBytesStoreSupplier;
import org.apache.kafka.streams.state.SessionStore;

/** Supplies the session stores of one name. */
final class FoldbSessionStoreSupplier implements SessionBytesStoreSupplier {
    private final String name;
    private final long retention;
    private final boolean indexed;

    /**
     * Creates a supplier.
     *
     * @param retention how long sessions stay after their end, in stream time
     * @param indexed whether the stores find sessions by their end alone
     * @throws IllegalArgumentException if the retention is negative or too long
     */
    FoldbSessionStoreSupplier(final String name, final Duration retention, final boolean indexed) {
        this.name = Objects.requireNonNull(name, "name cannot be null");
        this.retention = FoldbWindowStoreSupplier.milliseconds(retention, "retentionPeriod");
        this.indexed = indexed;
    }

    /** A supplier of what the DSL asks for. */
    static FoldbSessionStoreSupplier of(final DslSessionParams params) {
        return new FoldbSessionStoreSupplier(
            params.name(),
            params.retentionPeriod(),
            params.emitStrategy().type() == EmitStrategy.StrategyType.ON_WINDOW_CLOSE);
    }

    @Override
    public String name() {
        return name;
    }

    @Override
    public SessionStore<Bytes, byte[]> get() {
        return new FoldbSessionStore(name, retention, segmentIntervalMs(), indexed, false);
    }

    @Override
    public String metricsScope() {
        return FoldbStore.METRICS_SCOPE;
    }

    @Override
    public long segmentIntervalMs() {
        return Intervals.lengthFor(retention);
    }

    @Override
    public long retentionPeriod() {
        return retention;
    }
}
