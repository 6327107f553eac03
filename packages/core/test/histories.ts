import { randomInt } from 'node:crypto'

/** Where generated histories start. SEED=… runs the same ones again; each test that uses it says it on screen. */
export const seed = Number(process.env.SEED ?? randomInt(2 ** 31))

/**
 * How many histories to generate. HISTORIES=200000 is for a long look, and a small number for a run that is done
 * again for each mutant.
 */
export const histories = (usual: number): number => Number(process.env.HISTORIES ?? usual)
