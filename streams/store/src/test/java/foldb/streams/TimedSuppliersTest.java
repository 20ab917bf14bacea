package foldb.streams;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import foldb.streams.KafkaConditions.NeedsStoreFormats;
import java.time.Duration;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.DslStoreFormat;
import org.apache.kafka.streams.kstream.EmitStrategy;
import org.apache.kafka.streams.state.DslSessionParams;
import org.apache.kafka.streams.state.DslWindowParams;
import org.apache.kafka.streams.state.HeadersBytesStore;
import org.apache.kafka.streams.state.SessionBytesStoreSupplier;
import org.apache.kafka.streams.state.Stores;
import org.apache.kafka.streams.state.TimestampedBytesStore;
import org.apache.kafka.streams.state.WindowBytesStoreSupplier;
import org.apache.kafka.streams.state.WindowStore;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

/** The suppliers of window and session stores, beside those of Kafka Streams. */
class TimedSuppliersTest {
    private static final Duration DAY = Duration.ofDays(1);
    private static final Duration HOUR = Duration.ofHours(1);

    private final FoldbStoreSuppliers suppliers = new FoldbStoreSuppliers();

    /** Takes the format by name: before 4.3 a method with its type would have no class to name. */
    private WindowBytesStoreSupplier windows(
            final EmitStrategy emit, final boolean sliding, final String format) {
        return suppliers.windowStore(new DslWindowParams(
            "w", DAY, HOUR, false, emit, sliding, DslStoreFormat.valueOf(format)));
    }

    @Test
    @NeedsStoreFormats
    void theDslGetsWindowStoresOfItsFormat() {
        for (final EmitStrategy emit :
                new EmitStrategy[] {EmitStrategy.onWindowUpdate(), EmitStrategy.onWindowClose()}) {
            for (final boolean sliding : new boolean[] {false, true}) {
                final WindowStore<Bytes, byte[]> timestamped =
                    windows(emit, sliding, "TIMESTAMPED").get();
                assertEquals(sliding
                    || emit.type() == EmitStrategy.StrategyType.ON_WINDOW_UPDATE,
                    timestamped instanceof FoldbWindowStore);
                assertInstanceOf(TimestampedBytesStore.class, timestamped);
                assertInstanceOf(
                    HeadersBytesStore.class, windows(emit, sliding, "HEADERS").get());
            }
        }
        final WindowStore<Bytes, byte[]> plain =
            windows(EmitStrategy.onWindowUpdate(), false, "PLAIN").get();
        assertInstanceOf(FoldbWindowStore.class, plain);
        assertFalse(plain instanceof TimestampedBytesStore);
    }

    @Test
    @NeedsStoreFormats
    void theDslGetsSessionStores() {
        for (final EmitStrategy emit :
                new EmitStrategy[] {EmitStrategy.onWindowUpdate(), EmitStrategy.onWindowClose()}) {
            final SessionBytesStoreSupplier supplier = suppliers.sessionStore(
                new DslSessionParams("s", DAY, emit, DslStoreFormat.PLAIN));
            assertInstanceOf(FoldbSessionStore.class, supplier.get());
            assertEquals(DAY.toMillis(), supplier.retentionPeriod());
            assertFalse(suppliers.sessionStore(
                new DslSessionParams("s", DAY, emit, DslStoreFormat.HEADERS)).get()
                instanceof FoldbSessionStore);
        }
    }

    @Test
    void suppliersTellWhatTheStockOnesTell() {
        for (final Duration retention : new Duration[] {HOUR, DAY, Duration.ofSeconds(10)}) {
            final Duration size = Duration.ofSeconds(3);
            final WindowBytesStoreSupplier stock =
                Stores.persistentTimestampedWindowStore("w", retention, size, true);
            final WindowBytesStoreSupplier ours =
                FoldbStores.timestampedWindowStore("w", retention, size, true);
            assertEquals(stock.name(), ours.name());
            assertEquals(stock.retentionPeriod(), ours.retentionPeriod());
            assertEquals(stock.windowSize(), ours.windowSize());
            assertEquals(stock.segmentIntervalMs(), ours.segmentIntervalMs());
            assertTrue(ours.retainDuplicates());
            assertFalse(FoldbStores.windowStore("w", retention, size, false).retainDuplicates());
            final SessionBytesStoreSupplier session = FoldbStores.sessionStore("s", retention);
            assertEquals(Stores.persistentSessionStore("s", retention).segmentIntervalMs(),
                session.segmentIntervalMs());
            assertEquals(retention.toMillis(), session.retentionPeriod());
        }
    }

    @Test
    void badDurationsAndNamesAreRefusedAsTheStockSuppliersRefuseThem() {
        final Duration less = Duration.ofMillis(-1);
        final Duration endless = Duration.ofSeconds(Long.MAX_VALUE);
        for (final Duration[] pair : new Duration[][] {
                {HOUR, DAY}, {less, HOUR}, {HOUR, less}, {endless, HOUR}, {null, HOUR}}) {
            same(() -> Stores.persistentWindowStore("w", pair[0], pair[1], false),
                () -> FoldbStores.windowStore("w", pair[0], pair[1], false));
        }
        same(() -> Stores.persistentWindowStore(null, DAY, HOUR, false),
            () -> FoldbStores.windowStore(null, DAY, HOUR, false));
        same(() -> Stores.persistentSessionStore(null, DAY),
            () -> FoldbStores.sessionStore(null, DAY));
        same(() -> Stores.persistentSessionStore("s", less),
            () -> FoldbStores.sessionStore("s", less));
    }

    private static void same(final Executable stock, final Executable ours) {
        final RuntimeException expected = assertThrows(RuntimeException.class, stock);
        final RuntimeException actual = assertThrows(RuntimeException.class, ours);
        assertEquals(withoutDurations(expected), withoutDurations(actual));
    }

    // Before Kafka Streams 4.3 the stock messages have milliseconds.
    private static String withoutDurations(final RuntimeException error) {
        final String text = error.toString();
        return KafkaVersions.STORES_HAVE_FORMATS ? text : text.replaceAll("=\\[\\w+\\]", "");
    }
}
