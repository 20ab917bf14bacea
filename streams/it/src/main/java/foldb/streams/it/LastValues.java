package foldb.streams.it;

import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.kafka.common.metrics.KafkaMetric;
import org.apache.kafka.common.metrics.MetricsReporter;

/** Sums the last values of some totals when their stores close, which is after the last commit. */
public final class LastValues implements MetricsReporter {
    private static final Set<String> NAMES =
        Set.of("merge-total", "merge-fold-total", "merge-fold-get-total", "merge-get-total");
    private static final Map<String, Double> SUMS = new ConcurrentHashMap<>();

    /** Returns the sum of a total over all closed stores. */
    static double of(String name) {
        return SUMS.getOrDefault(name, 0.0);
    }

    /** Does nothing. */
    @Override
    public void init(List<KafkaMetric> metrics) {
    }

    /** Does nothing. */
    @Override
    public void metricChange(KafkaMetric metric) {
    }

    /** Keeps the last value of a total. */
    @Override
    public void metricRemoval(KafkaMetric metric) {
        if (NAMES.contains(metric.metricName().name())
                && metric.metricValue() instanceof Number number) {
            SUMS.merge(metric.metricName().name(), number.doubleValue(), Double::sum);
        }
    }

    /** Does nothing. */
    @Override
    public void close() {
    }

    /** Does nothing. */
    @Override
    public void configure(Map<String, ?> configs) {
    }
}
