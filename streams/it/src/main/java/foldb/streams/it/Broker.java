package foldb.streams.it;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.apache.kafka.common.Uuid;

/** One Kafka broker with its own controller, as a child process. */
final class Broker implements AutoCloseable {
    private static final int START_SECONDS = 60;

    private final Child child;
    private final String address;

    private Broker(Child child, String address) {
        this.child = child;
        this.address = address;
    }

    /** Formats a fresh directory, starts a broker on free ports and waits until it listens. */
    static Broker start(Path directory, Path logs) throws Exception {
        int port = freePort();
        Path settings = directory.resolve("server.properties");
        Files.createDirectories(directory);
        Files.writeString(settings, settings(port, freePort(), directory.resolve("data")));
        Child format = Child.start(logs, "format", List.of("-Xmx128m"), false,
            "kafka.tools.StorageTool",
            List.of("format", "-t", Uuid.randomUuid().toString(), "-c", settings.toString()));
        Failure.unless(format.await(START_SECONDS) == 0, "format failed:\n" + format.tail());
        Child child = Child.start(logs, "broker", List.of("-Xmx448m"), false,
            BrokerProcess.class.getName(), List.of(settings.toString()));
        Wait.until("the broker listens", START_SECONDS, () -> {
            Failure.unless(child.isAlive(), "the broker ended:\n" + child.tail());
            return listens(port);
        });
        return new Broker(child, "127.0.0.1:" + port);
    }

    String address() {
        return address;
    }

    private static String settings(int port, int controllerPort, Path data) {
        return String.join("\n",
            "process.roles=broker,controller",
            "node.id=1",
            "controller.quorum.voters=1@127.0.0.1:" + controllerPort,
            "listeners=PLAINTEXT://127.0.0.1:" + port
                + ",CONTROLLER://127.0.0.1:" + controllerPort,
            "advertised.listeners=PLAINTEXT://127.0.0.1:" + port,
            "controller.listener.names=CONTROLLER",
            "log.dirs=" + data,
            "offsets.topic.replication.factor=1",
            "offsets.topic.num.partitions=4",
            "transaction.state.log.replication.factor=1",
            "transaction.state.log.min.isr=1",
            "transaction.state.log.num.partitions=4",
            "share.coordinator.state.topic.replication.factor=1",
            "share.coordinator.state.topic.min.isr=1",
            // A killed instance is missed after its own session timeout, of 3 s here.
            "group.min.session.timeout.ms=1000",
            "group.initial.rebalance.delay.ms=500",
            // Its open transaction ends soon after its timeout.
            "transaction.abort.timed.out.transaction.cleanup.interval.ms=500",
            // Topics keep every record, so that records can be counted.
            "log.cleaner.enable=false",
            "log.retention.ms=-1",
            "auto.create.topics.enable=false",
            "");
    }

    private static int freePort() throws IOException {
        try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            return socket.getLocalPort();
        }
    }

    private static boolean listens(int port) {
        try (Socket socket = new Socket()) {
            socket.connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), port), 500);
            return true;
        } catch (IOException e) {
            return false;
        }
    }

    @Override
    public void close() {
        child.kill();
    }
}
