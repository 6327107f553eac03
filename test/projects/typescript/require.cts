import Circuit = require('@holdfast/compat/opossum')

const options: Circuit.Options<[string]> = { timeout: 1000 }
const circuit: Circuit<[string], number> = new Circuit(async (id: string) => id.length, options)
export = circuit
