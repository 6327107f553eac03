// The API of opossum 9.0.0.
export { CircuitBreaker as default } from './circuit.js'
