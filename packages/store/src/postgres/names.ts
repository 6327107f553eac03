import { createHash } from 'node:crypto'
import { toColumn } from '../text.js'

/** Stands for a name of any length, in 16 bytes: half of its SHA-256, which nobody can make two names of. */
export const hashName = (name: string): string =>
  createHash('sha256').update(toColumn(name)).digest('hex').slice(0, 32)
