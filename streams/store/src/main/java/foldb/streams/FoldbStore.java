package foldb.streams;

import foldb.streams.engine.Database;
import foldb.streams.engine.FoldbException;
import foldb.streams.engine.Options;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collection;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigException;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.errors.InvalidStateStoreException;
import org.apache.kafka.streams.errors.ProcessorStateException;
import org.apache.kafka.streams.processor.StateStore;
import org.apache.kafka.streams.processor.StateStoreContext;
import org.apache.kafka.streams.processor.internals.ChangelogRecordDeserializationHelper;
import org.apache.kafka.streams.processor.internals.RecordBatchingStateRestoreCallback;
import org.apache.kafka.streams.query.Position;
import org.apache.kafka.streams.query.PositionBound;
import org.apache.kafka.streams.query.Query;
import org.apache.kafka.streams.query.QueryConfig;
import org.apache.kafka.streams.query.QueryResult;
import org.apache.kafka.streams.state.internals.PositionSerde;
import org.apache.kafka.streams.state.internals.StoreQueryUtils;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What all stores have in common: one database in {@code stateDir()/foldb/name}, its offsets, and
 * the position of its data.
 *
 * <p>The stock stores use {@code stateDir()/name} and {@code stateDir()/rocksdb/name}. The two
 * engines never open each other's files, so an application may change from one to the other. Each
 * engine's offsets then stand beside that engine's data. Only {@code .checkpoint} names offsets
 * without data: Streams hands them to whatever store has the name. A store takes from it no offset
 * beyond its own, and no offset at all where it has none.
 *
 * <p>Under exactly-once, the first write after an open or a commit removes the stored offsets.
 * Streams then wipes and restores the store after a crash, because its data may not be committed.
 * Under at-least-once the offsets stay, and a restart replays the records since the last commit.
 */
abstract class FoldbStore implements StateStore {
    /** The metrics scope of all stores. */
    static final String METRICS_SCOPE = "foldb";

    private static final Logger LOG = LoggerFactory.getLogger(FoldbStore.class);

    /** The directory of all databases of a task. No stock store uses it. */
    private static final String DIRECTORY = "foldb";

    /**
     * Where Streams before 4.3, or with {@code upgrade.from}, keeps the offsets of a task's stores.
     * Streams hands them to the open stores after their {@code init}, and then deletes the file.
     */
    private static final String LEGACY_OFFSETS = ".checkpoint";

    /** The guard of writes together with the position, as Streams' queries expect it. */
    private Position position = Position.emptyPosition();
    private final String name;
    private final StoreMetrics metrics = new StoreMetrics();
    private volatile Database database;
    /** Bytes on the heap that count in the memory budget. Only the store's thread knows them. */
    private long dirtyBytes;
    private long filterBytes;
    private StateStoreContext context;
    private boolean consistencyEnabled;
    /** The file whose offsets the next commit may bring, or null. */
    private Path legacyOffsets;
    /** Where Streams keeps the offsets of this store; null from 4.3 on. */
    private CheckpointFile checkpoint;

    /**
     * Makes a closed store.
     *
     * @param name the name of the store
     */
    FoldbStore(final String name) {
        this.name = name;
    }

    @Override
    public final String name() {
        return name;
    }

    @Override
    public void init(final StateStoreContext stateStoreContext, final StateStore root) {
        final Map<String, Object> configs = stateStoreContext.appConfigs();
        refuseUpgradeFrom(configs);
        context = stateStoreContext;
        final Path task = stateStoreContext.stateDir().toPath();
        final Path directory = task.resolve(DIRECTORY).resolve(name);
        final Path legacy = task.resolve(LEGACY_OFFSETS);
        legacyOffsets = Files.exists(legacy) ? legacy : null;
        consistencyEnabled = StreamsConfig.InternalConfig.getBoolean(configs,
            StreamsConfig.InternalConfig.IQ_CONSISTENCY_OFFSET_VECTOR_ENABLED, false);
        final Database opened = open(directory, options(configs));
        try {
            final byte[] stored = opened.position();
            position = stored == null
                ? Position.emptyPosition() : PositionSerde.deserialize(ByteBuffer.wrap(stored));
            if (!KafkaVersions.STORES_KEEP_OFFSETS) {
                lowerOffset(stateStoreContext, opened);
            }
            opened(opened);
            metrics.register(stateStoreContext, name, opened);
            MemoryMetrics.register(stateStoreContext, FoldbConfig.memoryBytes(configs));
            database = opened;
            if (!takesMerges() && configs.containsKey(FoldbConfig.MERGE_PREFIX + name)) {
                LOG.warn("Store {} does not merge, although {}{} is configured. Either the log "
                    + "says why, or the topology was built without the configuration: make its "
                    + "builder with new StreamsBuilder(new TopologyConfig(new StreamsConfig("
                    + "properties)))", name, FoldbConfig.MERGE_PREFIX, name);
            }
            stateStoreContext.register(root,
                (RecordBatchingStateRestoreCallback) this::restoreBatch);
        } catch (final RuntimeException | Error error) {
            close();
            opened.close();
            throw error;
        }
    }

    /**
     * Refuses a configuration under which Streams writes the offsets of this store into
     * {@code .checkpoint}. A stock store of the same name would later take them over without the
     * data, and its first records would be lost in silence.
     */
    private void refuseUpgradeFrom(final Map<String, Object> configs) {
        final Object from = configs.get(StreamsConfig.UPGRADE_FROM_CONFIG);
        if (from != null) {
            throw new ConfigException(StreamsConfig.UPGRADE_FROM_CONFIG, from, "Store " + name
                + " is a store of foldb. Finish the upgrade of Kafka Streams with the stock store,"
                + " remove " + StreamsConfig.UPGRADE_FROM_CONFIG + ", and then change the store");
        }
    }

    private void lowerOffset(final StateStoreContext stateStoreContext, final Database opened) {
        checkpoint = CheckpointFile.of(stateStoreContext, name);
        if (checkpoint.lower(opened)) {
            LOG.info("Store {} does not take over its offset in {}, which another store left or"
                + " which its data does not reach", name, LEGACY_OFFSETS);
        }
    }

    private Database open(final Path directory, final Options options) {
        try {
            Files.createDirectories(directory.getParent());
            return Database.open(directory, options);
        } catch (final IOException error) {
            throw new ProcessorStateException(error);
        } catch (final FoldbException error) {
            final String message = "Error opening store " + name + " at location " + directory
                + ": " + error.getMessage();
            if (error.kind().equals("InvalidArgument")) {
                final ConfigException bad = new ConfigException(message);
                bad.initCause(error);
                throw bad;
            }
            throw new ProcessorStateException(message, error);
        }
    }

    /**
     * Returns the options of the database.
     *
     * @param configs the configuration of the application
     * @throws ConfigException if a value is bad
     */
    Options options(final Map<String, Object> configs) {
        final boolean exactlyOnce = StreamsConfig.EXACTLY_ONCE_V2.equals(
            configs.get(StreamsConfig.PROCESSING_GUARANTEE_CONFIG));
        return new Options(mergeOperator(), exactlyOnce, FoldbConfig.memoryBytes(configs));
    }

    /** Returns the name of the store's merge operator, or null if it has none. */
    String mergeOperator() {
        return null;
    }

    /**
     * Notes that the database may have a stored key from now on.
     *
     * @return whether the database certainly had no such key
     */
    boolean noteStored(final Bytes stored) {
        return false;
    }

    /** Returns whether the processor's changes stay in memory until a fold. */
    boolean takesMerges() {
        return mergeOperator() != null;
    }

    /**
     * Prepares a store after its open and before its restore.
     *
     * @param opened the open database; {@link #database()} does not return it yet
     */
    void opened(final Database opened) {
    }

    /**
     * Writes records of the changelog. The caller holds the monitor of the position.
     *
     * @param records the records in the order of their offsets
     */
    abstract void restore(Collection<ConsumerRecord<byte[], byte[]>> records);

    private void restoreBatch(final Collection<ConsumerRecord<byte[], byte[]>> records) {
        synchronized (position) {
            restore(records);
        }
    }

    /** Notes that the store has a record of the changelog. */
    final void updatePosition(final ConsumerRecord<byte[], byte[]> record) {
        ChangelogRecordDeserializationHelper.applyChecksAndUpdatePosition(
            record, consistencyEnabled, position);
    }

    /** Notes that the store has what the current record led to. */
    final void updatePosition() {
        StoreQueryUtils.updatePosition(position, context);
    }

    /**
     * Returns the open database.
     *
     * @throws InvalidStateStoreException if the store is closed
     */
    final Database database() {
        final Database opened = database;
        if (opened == null) {
            throw closed();
        }
        return opened;
    }

    /**
     * Checks that the store is open.
     *
     * @throws InvalidStateStoreException if it is closed
     */
    final void checkOpen() {
        database();
    }

    private InvalidStateStoreException closed() {
        return new InvalidStateStoreException("Store " + name + " is currently closed");
    }

    /**
     * Returns the exception of a failed call.
     *
     * @param doing what the store did, for example {@code "Error while getting value for key from"}
     * @param error the engine's error
     */
    final RuntimeException failed(final String doing, final FoldbException error) {
        return error.isClosed() ? closed()
            : new ProcessorStateException(doing + " store " + name + ": " + error.getMessage(),
                error);
    }

    @Override
    public void commit(final Map<TopicPartition, Long> changelogOffsets) {
        final Database opened = database;
        if (opened == null) {
            return;
        }
        final boolean legacy = legacyOffsets != null && Files.exists(legacyOffsets);
        legacyOffsets = null;
        final Map<String, Long> offsets = new HashMap<>();
        try {
            changelogOffsets.forEach((partition, offset) -> offsets.put(partition.toString(),
                legacy ? ownOffset(opened, partition, offset) : offset));
            synchronized (position) {
                opened.commit(offsets, PositionSerde.serialize(position).array());
            }
        } catch (final FoldbException error) {
            throw failed("Error while executing commit from", error);
        }
    }

    /** Does what {@link #commit} does, before Streams 4.3. Later versions do not call it. */
    @Override
    @SuppressWarnings("deprecation")
    public void flush() {
        final Database opened = database;
        if (opened == null || checkpoint == null) {
            return;
        }
        try {
            synchronized (position) {
                opened.commit(checkpoint.written(), PositionSerde.serialize(position).array());
            }
        } catch (final FoldbException error) {
            throw failed("Error while executing flush from", error);
        }
    }

    /** Counts the memory of changed keys that are not folded in the memory budget. */
    final void reserveDirtyKeys(final long bytes) {
        dirtyBytes = bytes;
        reserve();
    }

    /** Counts the memory of filters in the memory budget. */
    final void reserveFilters(final long bytes) {
        filterBytes = bytes;
        reserve();
    }

    private void reserve() {
        final Database opened = database;
        try {
            if (opened != null) {
                opened.reserve(dirtyBytes + filterBytes);
            }
        } catch (final FoldbException error) {
            // Closed meanwhile: a closed database counts nothing.
            LOG.debug("Store {} counts no memory", name, error);
        }
    }

    /** Returns the smaller of a foreign offset and the stored one; null if none is stored. */
    private Long ownOffset(
            final Database opened, final TopicPartition partition, final Long foreign) {
        final Long stored = opened.offset(partition.toString());
        final Long own = stored == null || foreign == null ? null : Long.valueOf(
            Math.min(stored, foreign));
        if (!Objects.equals(own, foreign)) {
            LOG.info("Store {} does not take over offset {} of {}, which another store left: it "
                + "restores from {}", name, foreign, partition, own == null ? "the start" : own);
        }
        return own;
    }

    @Override
    public Long committedOffset(final TopicPartition partition) {
        try {
            return database().offset(partition.toString());
        } catch (final FoldbException error) {
            throw failed("Error while getting committed offset for partition " + partition
                + " from", error);
        }
    }

    @Override
    @SuppressWarnings("deprecation")
    public boolean managesOffsets() {
        return true;
    }

    @Override
    public boolean persistent() {
        return true;
    }

    @Override
    public boolean isOpen() {
        return database != null;
    }

    @Override
    public Position getPosition() {
        return position;
    }

    @Override
    public <R> QueryResult<R> query(final Query<R> query, final PositionBound positionBound,
                                    final QueryConfig config) {
        return StoreQueryUtils.handleBasicQueries(
            query, positionBound, config, this, position, context);
    }

    @Override
    public synchronized void close() {
        final Database opened = database;
        if (opened == null) {
            return;
        }
        final int cursors = opened.openCursors();
        if (cursors != 0) {
            LOG.warn("Closing {} open iterators for store {}", cursors, name);
        }
        try {
            // Streams has written its file by now, after a clean end of the task.
            flush();
        } catch (final RuntimeException error) {
            LOG.error("Error while flushing store {}", name, error);
        }
        database = null;
        checkpoint = null;
        metrics.remove();
        try {
            opened.close();
        } catch (final FoldbException error) {
            LOG.error("Error while closing store {}", name, error);
        }
    }
}
