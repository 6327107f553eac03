import { makeRedactor } from '@holdfast/runtime'

/** A text without secrets, however it came about. */
export const redactText: (text: string) => string = makeRedactor()
