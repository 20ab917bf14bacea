package foldb.streams.it;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.LongSerializer;
import org.apache.kafka.common.serialization.StringSerializer;

/** The topics of the broker: makes, fills and reads them. */
final class Topics implements AutoCloseable {
    /** The partitions of every topic. */
    static final int PARTITIONS = 4;
    private static final int PACED_CHUNK = 1000;

    private final String broker;
    private final Admin admin;
    private final KafkaProducer<String, Long> producer;
    private volatile Exception sendError;

    Topics(String broker) {
        this.broker = broker;
        admin = Admin.create(Map.of("bootstrap.servers", broker));
        producer = new KafkaProducer<>(Map.of(
            "bootstrap.servers", broker, "linger.ms", 5, "batch.size", 65_536,
            "buffer.memory", 16L << 20,
            // A rejected first batch of a new topic must not be overtaken by the next one.
            "max.in.flight.requests.per.connection", 1),
            new StringSerializer(), new LongSerializer());
    }

    /** Makes topics and waits until their partitions have leaders. */
    void create(Collection<String> names) throws Exception {
        List<NewTopic> topics = new ArrayList<>();
        for (String name : names) {
            topics.add(new NewTopic(name, PARTITIONS, (short) 1));
        }
        admin.createTopics(topics).all().get();
        for (String name : names) {
            Wait.until(name + " has leaders", 30, () -> {
                try {
                    return ends(name).size() == PARTITIONS;
                } catch (ExecutionException e) {
                    return false;
                }
            });
        }
    }

    /** Sends the records with the numbers from {@code from} until before {@code to}. */
    void feed(String topic, Input input, long from, long to) {
        for (long number = from; number < to; number++) {
            producer.send(new ProducerRecord<>(topic, null, input.timestamp(number),
                input.key(number), input.value(number)), this::sent);
            if (number % 500_000 == 499_999) {
                World.say("    fed " + (number + 1) + " records to " + topic);
            }
        }
        producer.flush();
        Failure.unless(sendError == null, "a record cannot be sent: " + sendError);
    }

    private void sent(RecordMetadata metadata, Exception error) {
        if (error != null) {
            sendError = error;
        }
    }

    /** Sends records at a rate, in a thread of its own. */
    Thread feedPaced(String topic, Input input, long from, long to, int perSecond) {
        Thread thread = new Thread(() -> {
            long start = System.nanoTime();
            for (long at = from; at < to; at += PACED_CHUNK) {
                feed(topic, input, at, Math.min(to, at + PACED_CHUNK));
                long due = start + (at + PACED_CHUNK - from) * 1_000_000_000L / perSecond;
                long pause = (due - System.nanoTime()) / 1_000_000;
                try {
                    Thread.sleep(Math.max(0, pause));
                } catch (InterruptedException e) {
                    return;
                }
            }
        }, "feeder");
        thread.setDaemon(true);
        thread.start();
        return thread;
    }

    /** Returns the offset after the last record of each partition. */
    Map<Integer, Long> ends(String topic) throws Exception {
        Map<TopicPartition, OffsetSpec> asked = new HashMap<>();
        for (TopicPartition partition : partitions(topic)) {
            asked.put(partition, OffsetSpec.latest());
        }
        Map<Integer, Long> ends = new TreeMap<>();
        admin.listOffsets(asked).all().get()
            .forEach((partition, info) -> ends.put(partition.partition(), info.offset()));
        return ends;
    }

    /** Returns the committed offset of each partition; 0 where there is none. */
    Map<Integer, Long> committed(String group, String topic) throws Exception {
        Map<Integer, Long> offsets = new TreeMap<>();
        for (TopicPartition partition : partitions(topic)) {
            offsets.put(partition.partition(), 0L);
        }
        try {
            admin.listConsumerGroupOffsets(group).partitionsToOffsetAndMetadata().get()
                .forEach((partition, offset) -> {
                    if (partition.topic().equals(topic) && offset != null) {
                        offsets.put(partition.partition(), offset.offset());
                    }
                });
        } catch (ExecutionException e) {
            // The group has not committed yet.
        }
        return offsets;
    }

    /** Waits until a group has committed every record of a topic. */
    void awaitCommitted(String group, String topic, long seconds, Collection<Instance> instances)
            throws Exception {
        Wait.until(group + " has committed all of " + topic, seconds, () -> {
            instances.forEach(Instance::checkAlive);
            return committed(group, topic).equals(ends(topic));
        });
    }

    /** Returns the committed records of a topic, in the order of each partition. */
    List<ConsumerRecord<byte[], byte[]>> read(String topic) throws Exception {
        List<ConsumerRecord<byte[], byte[]>> records = new ArrayList<>();
        Map<String, Object> settings = Map.of("bootstrap.servers", broker,
            "isolation.level", "read_committed", "auto.offset.reset", "earliest",
            "max.poll.records", 5000);
        Map<Integer, Long> ends = ends(topic);
        List<TopicPartition> partitions = partitions(topic);
        try (var consumer = new KafkaConsumer<>(settings, new ByteArrayDeserializer(),
                new ByteArrayDeserializer())) {
            consumer.assign(partitions);
            consumer.seekToBeginning(partitions);
            Wait.until("all of " + topic + " is read", 60, () -> {
                ConsumerRecords<byte[], byte[]> some = consumer.poll(Duration.ofMillis(200));
                some.forEach(records::add);
                return partitions.stream()
                    .allMatch(one -> consumer.position(one) >= ends.get(one.partition()));
            });
        }
        return records;
    }

    /** Returns how many records a topic has, with the markers of transactions. */
    long size(String topic) throws Exception {
        return ends(topic).values().stream().mapToLong(Long::longValue).sum();
    }

    private List<TopicPartition> partitions(String topic) throws Exception {
        TopicDescription description =
            admin.describeTopics(List.of(topic)).allTopicNames().get().get(topic);
        return description.partitions().stream()
            .map(one -> new TopicPartition(topic, one.partition())).toList();
    }

    @Override
    public void close() {
        producer.close(Duration.ofSeconds(2));
        admin.close(Duration.ofSeconds(2));
    }
}
