package foldb.streams;

import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import org.apache.kafka.streams.processor.StateStore;
import org.apache.kafka.streams.state.StoreBuilder;

/**
 * Builds merge stores. Changelog logging is on by default. The record cache does not apply: a merge
 * store always logs once per changed key and commit.
 *
 * @param <L> the type of Streams' layers
 * @param <S> the type of merge stores
 */
final class MergeStoreBuilder<L extends StateStore, S extends StateStore>
    implements StoreBuilder<S> {
    /** Puts the merge store over Streams' layers. */
    interface Top<L, S> {
        S over(L layers);
    }

    private final StoreBuilder<L> layers;
    private final Top<L, S> top;
    private final Map<String, String> logConfig = new HashMap<>();
    private boolean logging = true;

    /**
     * Makes a builder.
     *
     * @param layers builds Streams' layers, a {@link MergingStore} innermost
     * @param top makes the store of what it builds
     */
    MergeStoreBuilder(StoreBuilder<L> layers, Top<L, S> top) {
        this.layers = layers.withCachingDisabled();
        this.top = top;
    }

    @Override
    public StoreBuilder<S> withCachingEnabled() {
        return this;
    }

    @Override
    public StoreBuilder<S> withCachingDisabled() {
        return this;
    }

    @Override
    public StoreBuilder<S> withLoggingEnabled(Map<String, String> config) {
        Objects.requireNonNull(config, "config can't be null");
        logging = true;
        logConfig.putAll(config);
        return this;
    }

    @Override
    public StoreBuilder<S> withLoggingDisabled() {
        logging = false;
        logConfig.clear();
        return this;
    }

    @Override
    public S build() {
        return top.over((logging ? layers.withLoggingEnabled(logConfig)
            : layers.withLoggingDisabled()).build());
    }

    @Override
    public Map<String, String> logConfig() {
        return logConfig;
    }

    @Override
    public boolean loggingEnabled() {
        return logging;
    }

    @Override
    public String name() {
        return layers.name();
    }
}
