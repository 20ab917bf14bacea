/**
 * The binding to the engine. Its classes are public for the stores of this library, and internal
 * otherwise: they change without notice.
 */
package foldb.streams.engine;
