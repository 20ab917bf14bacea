package foldb.streams;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.api.condition.EnabledIf;

/** What tests need of the version of Kafka Streams that runs them. */
final class KafkaConditions {
    private KafkaConditions() {
    }

    /** Runs a test only if stores have {@code commit} and {@code committedOffset}. */
    @Target({ElementType.TYPE, ElementType.METHOD})
    @Retention(RetentionPolicy.RUNTIME)
    @EnabledIf(value = "foldb.streams.KafkaConditions#storesKeepOffsets",
        disabledReason = "before Kafka Streams 4.3 stores keep no offsets")
    @interface NeedsOffsetsInStores {
    }

    /** Runs a test only if the DSL asks for stores of a format. */
    @Target({ElementType.TYPE, ElementType.METHOD})
    @Retention(RetentionPolicy.RUNTIME)
    @EnabledIf(value = "foldb.streams.KafkaConditions#storesHaveFormats",
        disabledReason = "before Kafka Streams 4.3 stores have no formats")
    @interface NeedsStoreFormats {
    }

    /** Runs a test only if the wrapper knows the processors of this version. */
    @Target({ElementType.TYPE, ElementType.METHOD})
    @Retention(RetentionPolicy.RUNTIME)
    @EnabledIf(value = "foldb.streams.KafkaConditions#wrapperMerges",
        disabledReason = "the wrapper merges nothing with this version of Kafka Streams")
    @interface NeedsMerges {
    }

    static boolean storesKeepOffsets() {
        return KafkaVersions.STORES_KEEP_OFFSETS;
    }

    static boolean storesHaveFormats() {
        return KafkaVersions.STORES_HAVE_FORMATS;
    }

    static boolean wrapperMerges() {
        return KafkaVersions.obstacle() == null;
    }
}
