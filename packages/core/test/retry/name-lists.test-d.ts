import { expectTypeOf } from 'vitest'
import { WINDOW_TYPES, type WindowType } from '../../src/breaker/options.js'
import { KINDS, type Kind } from '../../src/classify/index.js'
import { BACKOFF_TYPES, type Backoff, JITTER_TYPES, type Jitter } from '../../src/retry/options.js'

// Schemas, wire format and dashboard are derived from these lists, so a name that is missing in one does not compile.
expectTypeOf(BACKOFF_TYPES[0] as (typeof BACKOFF_TYPES)[number]).toEqualTypeOf<Extract<Backoff, string>>()
expectTypeOf(JITTER_TYPES[0] as (typeof JITTER_TYPES)[number]).toEqualTypeOf<Jitter>()
expectTypeOf(WINDOW_TYPES[0] as (typeof WINDOW_TYPES)[number]).toEqualTypeOf<WindowType>()
expectTypeOf(KINDS[0] as (typeof KINDS)[number]).toEqualTypeOf<Kind>()
