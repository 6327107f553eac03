import { randomInt } from 'node:crypto'

/** The seed of generated histories. SEED=… runs the same ones again; each test that uses it has it in its name. */
export const seed = Number(process.env.SEED ?? randomInt(2 ** 31))

/**
 * How many histories to generate. HISTORIES=200000 is for a thorough run, and a small number for a run that is repeated
 * for each mutant.
 */
export const histories = (usual: number): number => Number(process.env.HISTORIES ?? usual)
