export { classify } from './classify.js'
export { compileMatchers, type Matcher, matcherProblems } from './match.js'
export { retryAfterOf } from './retry-after.js'
export type { Category, Classification, Kind } from './verdict.js'
