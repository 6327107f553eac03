export { classify } from './classify.js'
export { compileMatchers, type Match, type Matcher, matcherProblems } from './match.js'
export { retryAfterOf } from './retry-after.js'
export type { Category, Classification, Kind } from './verdict.js'
