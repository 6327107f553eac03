import { makeRedactor } from '@holdfast/runtime'

/** Removes secrets from a text. */
export const redactText: (text: string) => string = makeRedactor()
