package foldb.streams.it;

import java.io.IOException;
import kafka.Kafka;

/** A broker that ends when its standard input ends, also after a kill of its parent process. */
final class BrokerProcess {
    private BrokerProcess() {
    }

    public static void main(String[] arguments) {
        Thread watcher = new Thread(BrokerProcess::endWithInput, "parent");
        watcher.setDaemon(true);
        watcher.start();
        Kafka.main(arguments);
    }

    private static void endWithInput() {
        try {
            while (System.in.read() >= 0) {
                // The parent writes nothing.
            }
        } catch (IOException e) {
            // The parent has ended too.
        }
        Runtime.getRuntime().halt(1);
    }
}
