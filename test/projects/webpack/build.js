import webpack from 'webpack'

const config = {
  mode: 'none',
  target: 'node20',
  entry: './app.js',
  externals: { libsql: 'commonjs libsql', pg: 'commonjs pg', ioredis: 'commonjs ioredis' },
  output: { path: `${import.meta.dirname}/out`, filename: 'app.cjs' },
}
webpack(config, (error, stats) => {
  if (error !== null || stats.hasErrors()) {
    console.error(error ?? stats.toString())
    process.exitCode = 1
  }
})
