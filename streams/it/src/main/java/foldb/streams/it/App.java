package foldb.streams.it;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.io.Reader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.kafka.common.Metric;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.KafkaStreams.State;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.TopologyConfig;
import org.apache.kafka.streams.errors.StreamsUncaughtExceptionHandler;
import org.apache.kafka.streams.processor.StateRestoreListener;

/**
 * An instance of an application, as a process. It reads a file of settings, runs a topology, and
 * answers each line of its standard input with one line. It ends when its input ends.
 */
final class App {
    private final KafkaStreams streams;
    private final Queries queries;
    private final AtomicLong restored = new AtomicLong();

    private App(Properties settings) {
        Topologies topology = Topologies.valueOf(own(settings, "topology"));
        String in = own(settings, "in");
        String out = own(settings, "out");
        StreamsConfig config = new StreamsConfig(settings);
        StreamsBuilder builder = new StreamsBuilder(new TopologyConfig(config));
        topology.build(builder, in, out);
        streams = new KafkaStreams(builder.build(settings), config);
        queries = new Queries(streams);
        streams.setGlobalStateRestoreListener(new Restores());
        streams.setUncaughtExceptionHandler(error -> {
            error.printStackTrace();
            return StreamsUncaughtExceptionHandler.StreamThreadExceptionResponse.SHUTDOWN_CLIENT;
        });
    }

    private static String own(Properties settings, String name) {
        return (String) settings.remove(Instance.OWN + name);
    }

    public static void main(String[] arguments) throws Exception {
        // Standard output is for answers only.
        PrintStream answers = System.out;
        System.setOut(System.err);
        Properties settings = new Properties();
        try (Reader reader = Files.newBufferedReader(Path.of(arguments[0]))) {
            settings.load(reader);
        }
        App app = new App(settings);
        app.streams.start();
        var in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String answer;
            try {
                answer = "ok " + app.answer(line.split(" "));
            } catch (Exception e) {
                e.printStackTrace();
                answer = "error " + String.valueOf(e).replace('\n', ' ');
            }
            answers.println(answer);
            answers.flush();
            if (line.equals("close") || line.startsWith("drain")) {
                break;
            }
        }
        app.streams.close(Duration.ofSeconds(10));
        // Threads of clients that hang must not keep the process.
        Runtime.getRuntime().halt(0);
    }

    private String answer(String[] words) throws Exception {
        return switch (words[0]) {
            case "state" -> streams.state().toString();
            case "active" -> active();
            case "restored" -> restored.toString();
            case "metric" -> String.valueOf(metric(words[1]));
            case "metrics" -> metrics(words[1]);
            case "dump" -> queries.dump(words[1], Path.of(words[2]), words.length > 3);
            case "query" -> queries.answer(words);
            case "host" -> queries.host(words[1], words[2]);
            case "close" -> close();
            case "drain" -> drain(Long.parseLong(words[1]));
            default -> throw new IllegalArgumentException("unknown command " + words[0]);
        };
    }

    /** Closes the streams. The answer is the time from the call to its end, in microseconds. */
    private String close() {
        long start = System.nanoTime();
        boolean closed = streams.close(Duration.ofSeconds(60));
        long micros = (System.nanoTime() - start) / 1000;
        if (!closed) {
            throw new IllegalStateException("not closed after 60 s");
        }
        return String.valueOf(micros);
    }

    /**
     * Processes a number of records, commits them and closes the application. The answer: the
     * microseconds from the first record to the end of the close, and how many keys were folded
     * and read by stores that merge.
     */
    private String drain(long records) throws InterruptedException {
        long start = awaitProcessed(1);
        awaitProcessed(records);
        streams.close(Duration.ofSeconds(120));
        long micros = (System.nanoTime() - start) / 1000;
        return micros + " " + (long) LastValues.of("merge-fold-total") + " "
            + (long) (LastValues.of("merge-fold-get-total") + LastValues.of("merge-get-total"))
            + " "
            + (long) LastValues.of("merge-total");
    }

    private long awaitProcessed(long records) throws InterruptedException {
        while (metric("process-total") < records) {
            if (!streams.state().isRunningOrRebalancing() && streams.state() != State.CREATED) {
                throw new IllegalStateException("state " + streams.state());
            }
            Thread.sleep(10);
        }
        return System.nanoTime();
    }

    /** Returns the partitions of the active tasks, of the first sub-topology. */
    private String active() {
        TreeSet<String> partitions = new TreeSet<>();
        streams.metadataForLocalThreads().forEach(thread -> thread.activeTasks().forEach(task -> {
            if (task.taskId().subtopology() == 0) {
                partitions.add(String.valueOf(task.taskId().partition()));
            }
        }));
        return String.join(",", partitions);
    }

    /** Returns the sum of all metrics with a name. */
    private double metric(String name) {
        double sum = 0;
        for (Metric metric : streams.metrics().values()) {
            if (metric.metricName().name().equals(name)
                    && metric.metricValue() instanceof Number number) {
                sum += number.doubleValue();
            }
        }
        return sum;
    }

    /** Returns the sums of all metrics whose group contains a text, by name. */
    private String metrics(String group) {
        Map<String, Double> sums = new TreeMap<>();
        for (Metric metric : streams.metrics().values()) {
            if (metric.metricName().group().contains(group)
                    && metric.metricValue() instanceof Number number) {
                sums.merge(metric.metricName().name(), number.doubleValue(), Double::sum);
            }
        }
        return sums.toString();
    }

    /** Counts the records that tasks take from their changelogs. */
    private final class Restores implements StateRestoreListener {
        @Override
        public void onRestoreStart(TopicPartition partition, String store, long from, long to) {
            System.err.println("restore of " + store + " " + partition + ": " + from + " to " + to);
        }

        @Override
        public void onBatchRestored(TopicPartition partition, String store, long end, long count) {
            restored.addAndGet(count);
        }

        @Override
        public void onRestoreEnd(TopicPartition partition, String store, long total) {
            System.err.println("restored " + store + " " + partition + ": " + total + " records");
        }
    }
}
