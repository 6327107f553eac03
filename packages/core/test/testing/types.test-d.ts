// Checked by tsc, not run: a scripted function does not return the errors that it throws.
import { expectTypeOf } from 'vitest'
import { scripted } from '../../src/testing/index.js'

const coded = Object.assign(new Error('down'), { code: 'ECONNRESET' })
expectTypeOf(scripted([coded, { id: 7 }])()).toEqualTypeOf<Promise<{ id: number }>>()
expectTypeOf(scripted([new TypeError('down'), 'up'])()).toEqualTypeOf<Promise<string>>()
expectTypeOf(scripted<string>([coded, 'up'])()).toEqualTypeOf<Promise<string>>()
