export type { Category, Classification, Kind } from './classification.js'
export { classify } from './classify.js'
export { type CompiledMatcher, compileMatchers, type Matcher, matcherProblems } from './matchers.js'
export { parseRetryAfter } from './retry-after.js'
