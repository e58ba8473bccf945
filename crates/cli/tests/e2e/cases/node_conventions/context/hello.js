module.exports = async (context) => ({
  status: 201,
  headers: { "x-method": context.request.method, "set-cookie": ["a=1", "b=2"] },
  body: { name: context.request.params.name, query: context.request.query, sent: context.request.body ?? null },
});
