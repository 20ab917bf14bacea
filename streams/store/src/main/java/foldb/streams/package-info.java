/**
 * foldb as the state store of Kafka Streams.
 *
 * <p>Start at {@link foldb.streams.FoldbStoreSuppliers} for the DSL, and at
 * {@link foldb.streams.FoldbStores} for single stores.
 */
package foldb.streams;
