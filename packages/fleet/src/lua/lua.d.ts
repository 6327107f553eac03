/** A Lua file is imported as its text: esbuild and vitest load it so (`scripts/packages.mjs`). */
declare module '*.lua' {
  const text: string
  export default text
}
