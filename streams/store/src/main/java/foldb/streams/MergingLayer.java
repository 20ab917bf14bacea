package foldb.streams;

import java.util.Map;
import java.util.function.Function;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.streams.query.Position;
import org.apache.kafka.streams.query.PositionBound;
import org.apache.kafka.streams.query.Query;
import org.apache.kafka.streams.query.QueryConfig;
import org.apache.kafka.streams.query.QueryResult;
import org.apache.kafka.streams.state.internals.CacheFlushListener;
import org.apache.kafka.streams.state.internals.WrappedStateStore;

/**
 * What the innermost stores of a merge share: commits and queries see every merge, and the flush of
 * Streams' record cache folds.
 *
 * <p>Subclasses write the buffer of {@link Merges} to the database before each read.
 *
 * @param <S> the store of the folded values
 * @param <M> the merges
 */
abstract class MergingLayer<S extends FoldbStore, M extends Merges>
    extends WrappedStateStore<S, byte[], byte[]> implements MergingStore {
    final M merges;

    /**
     * Makes a closed store.
     *
     * @param make makes the merges of this store
     */
    MergingLayer(S wrapped, Function<MergingStore, M> make) {
        super(wrapped);
        merges = make.apply(this);
    }

    @Override
    public final M merges() {
        return merges;
    }

    @Override
    public final boolean setFlushListener(
            CacheFlushListener<byte[], byte[]> flushListener, boolean sendOldValues) {
        return merges.setFlushListener(flushListener, sendOldValues);
    }

    @Override
    public final void flushCache() {
        merges.flush();
    }

    @Override
    public final void clearCache() {
        merges.clear();
    }

    @Override
    public final Position getPosition() {
        // The log asks for the position with each folded value. A write would take new keys out of
        // memory before their own fold.
        if (!merges.isFolding()) {
            merges.write();
        }
        return wrapped().getPosition();
    }

    @Override
    @SuppressWarnings("deprecation")
    public final void flush() {
        merges.write();
        wrapped().flush();
    }

    @Override
    public final void commit(Map<TopicPartition, Long> changelogOffsets) {
        merges.write();
        super.commit(changelogOffsets);
    }

    @Override
    public final void close() {
        merges.close();
        super.close();
    }

    @Override
    public <R> QueryResult<R> query(
            Query<R> query, PositionBound positionBound, QueryConfig config) {
        merges.write();
        return wrapped().query(query, positionBound, config);
    }
}
