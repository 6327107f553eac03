import { isHoldfastError } from 'holdfast'
import { Keys } from '../../dead-letters/seal.js'
import type { Facts, Tell } from './facts.js'

/** Checks the keys of payloads: one that is none would be found out only when the first call has failed for good. */
export function checkDeadLetters({ config }: Facts, problem: Tell): void {
  const given = config.deadLetters?.encryptionKey
  if (given === undefined) return
  const path = ['dead_letters', 'encryption_key']
  try {
    // Payloads would be stored as they are, which is not what was asked for.
    if (new Keys(given).newest === undefined)
      problem(path, 'there is no key in it, takes 32 bytes as base64 or hexadecimal digits')
  } catch (error) {
    if (!isHoldfastError(error, 'INVALID_OPTIONS')) throw error
    for (const said of error.details ?? []) problem(path, String(said))
  }
}
