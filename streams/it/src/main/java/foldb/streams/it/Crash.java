package foldb.streams.it;

import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import org.apache.kafka.clients.consumer.ConsumerRecord;

/**
 * A kill between two commits.
 *
 * @param at when, in nanoseconds
 * @param committed the offsets that the killed process committed last
 * @param ends an upper bound of what it read
 */
record Crash(long at, Map<Integer, Long> committed, Map<Integer, Long> ends) {
    static Crash kill(World world, Instance instance, String id, String in,
                      Set<Integer> partitions, Application application) throws Exception {
        Topics topics = world.topics();
        Thread.sleep(1200);
        Map<Integer, Long> before = topics.committed(id, in);
        // The kill falls in the middle between two commits. A kill between the commit of the
        // input and that of the store could replay one interval more.
        Wait.until("a commit of " + id, 30, () -> !before.equals(topics.committed(id, in)));
        Thread.sleep(Long.parseLong(application.settings().get("commit.interval.ms")) / 2);
        instance.kill();
        long at = System.nanoTime();
        Map<Integer, Long> ends = new HashMap<>(topics.ends(in));
        Map<Integer, Long> committed = new HashMap<>(topics.committed(id, in));
        ends.keySet().retainAll(partitions);
        committed.keySet().retainAll(partitions);
        return new Crash(at, committed, ends);
    }

    /** Whether a record of the input may have counted before the kill and after it. */
    boolean mayRepeat(ConsumerRecord<?, ?> record) {
        return ends.containsKey(record.partition())
            && record.offset() >= committed.get(record.partition())
            && record.offset() < ends.get(record.partition());
    }

    long uncommitted() {
        long sum = 0;
        for (Map.Entry<Integer, Long> end : ends.entrySet()) {
            sum += end.getValue() - committed.get(end.getKey());
        }
        return sum;
    }
}
