import { randomInt } from 'node:crypto'

/**
 * The seed of the histories that a test generates. It is derived from a name, so that each run of the gate tests the same
 * histories. `SEED=7` sets it, and `SEED=random` chooses one for a long run; each test that uses it has it in its name.
 */
export function seedOf(name: string): number {
  const { SEED } = process.env
  if (SEED === 'random') return randomInt(2 ** 31)
  if (SEED !== undefined) return Number(SEED)
  // The hash function FNV-1a: names that differ in one letter have different seeds.
  let hash = 0x811c9dc5
  for (let i = 0; i < name.length; i++) hash = Math.imul(hash ^ name.charCodeAt(i), 0x01000193)
  return hash >>> 1
}

/**
 * How many histories to generate. HISTORIES=200000 is for a thorough run, and a small number for a run that is repeated
 * for each mutant.
 */
export const histories = (usual: number): number => Number(process.env.HISTORIES ?? usual)
